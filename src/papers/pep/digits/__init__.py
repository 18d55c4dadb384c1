"""Even against odd digits by minibatches: trainings and what became of them."""
