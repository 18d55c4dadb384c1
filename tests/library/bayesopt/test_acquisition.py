"""The acquisition function: against its definition and rejection sampling."""

import numpy as np

from tilted.bayesopt import acquisition, nfcpd, rejection


def test_it_is_the_mean_over_optima_of_gaussian_entropies(make):
    functions, _ = make(1, n=6, dimension=2, constraints=2, noise=0.1)
    rng = np.random.default_rng(0)
    places, Xs = rng.random((5, 2)), rng.random((1100, 2))
    found = nfcpd.infer(functions[0], functions[1:], places)
    ours = acquisition.entropy_reduction(found, Xs)
    after = nfcpd.predict(found, Xs[1050:1051]).variance[:, :, 0]
    for j, function in enumerate(functions):
        before = function.predict(Xs[1050:1051])[1][0] + function.noise
        entropies = [0.5 * np.log(2 * np.pi * np.e * (v + function.noise)) for v in after[j]]
        expected = 0.5 * np.log(2 * np.pi * np.e * before) - np.mean(entropies)
        np.testing.assert_allclose(ours[j, 1050], expected, rtol=1e-10)


def test_it_agrees_with_rejection_sampling(make, likely):
    functions, _ = make(11, n=6, constraints=2, noise=0.1, shift=0.3)
    Xs, place = np.linspace(0, 1, 11)[:, None], likely(functions)
    truth = rejection.sample(
        functions[0], functions[1:], place[0], Xs, np.random.default_rng(0), wanted=20_000, most=200_000
    )
    before = np.array([f.predict(Xs)[1] for f in functions])
    noise = np.array([f.noise for f in functions])
    expected = acquisition.reduction(before, np.log(truth.variance + noise[:, None]), noise)
    ours = acquisition.entropy_reduction(nfcpd.infer(functions[0], functions[1:], place), Xs)
    assert np.max(np.abs(ours - expected)) < 0.1 * np.max(expected) + 0.02
    assert np.corrcoef(ours.sum(axis=0), expected.sum(axis=0))[0, 1] > 0.98
