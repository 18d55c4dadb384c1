"""Classification of even against odd digits by minibatches: trainings and their results."""
