# What the digits' part of a configuration asks for.


MNIST = config.get("mnist", {})


def planned_digits():
    """Measurements, power, number of pseudo-points and steps of all runs; one that two grids ask for is one."""
    runs = [
        (
            f"data/fits/mnist/{grid['steps']}/alpha{alpha:g}-m{m}-seed{seed}.jsonl.gz",
            alpha,
            m,
            grid["steps"],
        )
        for grid in MNIST.values()
        for m in grid["m"]
        for alpha in grid["alphas"]
        for seed in range(grid["seeds"])
    ]
    return list(dict.fromkeys(runs))


def mnist_paths():
    """Measurements of all runs."""
    return [run[0] for run in planned_digits()]


def mnist_record():
    """Their record, if the configuration has any."""
    return [f"{config['results']}/pep/{mnist_results.FILE}" for _ in MNIST][:1]


def mnist_raw():
    """Raw files of the digits."""
    return [f"data/raw/{file['path']}" for file in mnist_data.raw_files("data")]
