"""Raw file to one standard HDF5 file."""

from tilted import data

wildcards = snakemake.wildcards  # noqa: F821
dataset = data.load(wildcards.dataset, wildcards.variant, mirror=snakemake.params.mirror)  # noqa: F821
data.write_standard(dataset, snakemake.output[0])  # noqa: F821
