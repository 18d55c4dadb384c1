"""Ground truth: the exact posterior p(f | y) and evidence at fixed hyperparameters, by sampling.

The rooms, in reading order:

``target``
    the posterior over distinct inputs (over all where they have white noise), and a **reference** Gaussian
    times a residual that equals it;
``moves``
    Markov moves that leave reference x exp(power x residual) invariant: elliptical slice sampling of
    all latents at once, and of one latent at a time;
``chains``
    many chains side by side, moments in constant memory, Monte-Carlo standard errors;
``diagnostics``
    R-hat and effective sample size;
``annealing``
    the evidence by annealed importance sampling from the reference to the posterior;
``orthant``
    of the probit likelihood, independent weighted draws and the evidence, in seconds.

Nothing here is an approximation with a fixed point: errors shrink as the samples grow, and every estimate
comes with its standard error.
"""
