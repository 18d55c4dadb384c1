#!/bin/sh
# The commands of PBS Pro, Grid Engine and LSF, for Snakemake's cluster-generic plugin.
#   scheduler.sh submit NAME MEGABYTES MINUTES JOBSCRIPT    one core; prints the job's id
#   scheduler.sh status ID                                  running, success or failed
#   scheduler.sh cancel ID...
# A job writes its exit status to logs/cluster/ID.exit; one that is gone without it was killed.
set -eu

# What a user edits: queue, account and what else this cluster wants of every job.
OPTIONS=${TILTED_CLUSTER_OPTIONS:-}
# pbs, sge or lsf; otherwise by the commands that are here
SCHEDULER=${TILTED_SCHEDULER:-}

if [ -z "$SCHEDULER" ]; then
  if command -v bsub >/dev/null; then SCHEDULER=lsf
  elif [ -n "${SGE_ROOT:-}" ]; then SCHEDULER=sge
  elif command -v qsub >/dev/null; then SCHEDULER=pbs
  else echo "neither qsub nor bsub is here" >&2; exit 2; fi
fi

LOGS=logs/cluster

# What the cluster runs: the job in this folder, and then its exit status under the id it has there.
job() {
  printf '#!/bin/sh\ncd "%s" || exit 1\nsh "%s"\ncode=$?\n' "$PWD" "$1"
  printf 'echo "$code" > "%s/${PBS_JOBID:-${LSB_JOBID:-$JOB_ID}}.exit"\nexit "$code"\n' "$LOGS"
}

submit() {
  name=$1 megabytes=$2 minutes=$3 script=$4
  mkdir -p "$LOGS"
  # shellcheck disable=SC2086  # OPTIONS are words
  case $SCHEDULER in
    pbs) job "$script" | qsub -N "$name" -V -j oe -o "$LOGS/" -l "select=1:ncpus=1:mem=${megabytes}mb" \
           -l "walltime=$((minutes * 60))" $OPTIONS ;;
    sge) job "$script" | qsub -terse -N "$name" -V -cwd -S /bin/sh -j y -o "$LOGS/" \
           -l "h_vmem=${megabytes}M" -l "h_rt=$((minutes * 60))" $OPTIONS ;;
    lsf) answer=$(job "$script" | bsub -J "$name" -n 1 -R "rusage[mem=${megabytes}MB]" -M "${megabytes}MB" \
           -W "$minutes" -oo "$LOGS/%J.log" $OPTIONS)
         echo "$answer" | sed -n 's/^Job <\([0-9]*\)>.*/\1/p' ;;
  esac
}

# Whether the cluster still has the job.
listed() {
  case $SCHEDULER in
    pbs) qstat "$1" >/dev/null 2>&1 ;;
    sge) qstat -j "$1" >/dev/null 2>&1 ;;
    lsf) bjobs -noheader -o stat "$1" 2>/dev/null | grep -Eq 'PEND|RUN|SUSP|PROV|WAIT|UNKWN' ;;
  esac
}

status() {
  if ! [ -s "$LOGS/$1.exit" ]; then
    if listed "$1"; then echo running; return; fi
    sleep "${TILTED_CLUSTER_GRACE:-10}" # a shared file may come late
  fi
  if [ "$(cat "$LOGS/$1.exit" 2>/dev/null)" = 0 ]; then echo success; else echo failed; fi
}

cancel() {
  case $SCHEDULER in
    lsf) bkill "$@" ;;
    *) qdel "$@" ;;
  esac
}

command=$1
shift
"$command" "$@"
