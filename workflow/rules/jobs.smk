# Jobs, a rule for each kind of them, and the records that their files are folded into, a rule each.


for kind in dict.fromkeys(job.kind for job in ASKED.jobs.values()):
    ours = [re.escape(path.removeprefix("data/")) for path, job in ASKED.jobs.items() if job.kind == kind]

    rule:
        name:
            kind
        input:
            unpack(lambda wildcards: job_of(wildcards).files),
        output:
            "data/{path}",
        log:
            "logs/{path}.log",
        wildcard_constraints:
            path="|".join(ours),
        conda:
            "../envs/tilted.yaml"
        threads: 1
        params:
            key=lambda wildcards: job_of(wildcards).key,
            function=lambda wildcards: job_of(wildcards).function,
            parameters=lambda wildcards: job_of(wildcards).parameters,
            choices=lambda wildcards: job_of(wildcards).choices,
        script:
            "../scripts/run.py"


# One at a time: they share runs.csv and SHA256SUMS (`folding` in the profiles for clusters).
for record in ASKED.records.values():

    rule:
        name:
            record.name
        input:
            fits=lambda wildcards, name=record.name: ASKED.paths(name),
            changed=lambda wildcards, name=record.name: changed_records(name),
        output:
            note_of(record.name) if KEPT else [f"{RESULTS}/{file}" for file in ASKED.files(record.name)],
        log:
            f"logs/{config['name']}/{record.name}.log",
        conda:
            "../envs/tilted.yaml"
        threads: 1
        resources:
            folding=1,
        params:
            source=closure_hash(record.function, *record.modules),
            function=record.function,
            parameters=record.parameters,
            folder=lambda wildcards: RESULTS,
            files=ASKED.files(record.name),
            found=lambda wildcards, name=record.name: found(name) if KEPT else None,
            # of a function of the threads Snakemake keeps no note
            state=lambda wildcards, threads, name=record.name: state_of(name),
        script:
            "../scripts/record.py"
