#!/bin/sh
# The commands of PBS Pro, Grid Engine and LSF 10.1, for Snakemake's cluster-generic plugin.
#   scheduler.sh submit NAME MEGABYTES MINUTES JOBSCRIPT    one core; prints the job's id
#   scheduler.sh status ID                                  running, success or failed
#   scheduler.sh cancel ID...
# A job writes its exit status to logs/cluster/ID.exit; one that is gone without it was killed. Before the status
# stands a word that no other submission has, which logs/cluster/ID.mine repeats: ids come again, clocks differ.
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
case $SCHEDULER in
  pbs | sge | lsf) ;;
  *) echo "TILTED_SCHEDULER is pbs, sge or lsf, not $SCHEDULER" >&2; exit 2 ;;
esac

LOGS=logs/cluster
# Seconds that ID.exit may come after its job has gone: NFS may say for a minute that a file is not there.
GRACE=${TILTED_CLUSTER_GRACE:-60}

quoted() {
  printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"
}

# What the cluster runs: the job in this folder, and then its exit status under the id it has there.
job() {
  printf '#!/bin/sh\ncd %s || exit 1\nsh %s\ncode=$?\n' "$(quoted "$PWD")" "$(quoted "$1")"
  printf 'echo "%s $code" > "%s/${PBS_JOBID:-${LSB_JOBID:-$JOB_ID}}.exit"\nexit "$code"\n' "$MINE" "$LOGS"
}

# Grid Engine is asked for free memory, not for h_vmem: that counts virtual memory, of which Python maps a gigabyte.
enqueue() {
  name=$1 megabytes=$2 minutes=$3 script=$4
  # shellcheck disable=SC2086  # OPTIONS are words
  case $SCHEDULER in
    pbs) job "$script" | qsub -N "$name" -V -j oe -o "$LOGS/" -l "select=1:ncpus=1:mem=${megabytes}mb" \
           -l "walltime=$((minutes * 60))" $OPTIONS ;;
    sge) job "$script" | qsub -terse -N "$name" -V -cwd -S /bin/sh -j y -o "$LOGS/" \
           -l "mem_free=${megabytes}M" -l "h_rt=$((minutes * 60))" $OPTIONS ;;
    lsf) answer=$(job "$script" | bsub -J "$name" -n 1 -R "rusage[mem=${megabytes}MB]" -M "${megabytes}MB" \
           -W "$minutes" -oo "$LOGS/%J.log" $OPTIONS)
         printf '%s\n' "$answer" | sed -n 's/^Job <\([0-9]*\)>.*/\1/p' ;;
  esac
}

submit() {
  mkdir -p "$LOGS"
  MINE=$(uname -n)-$(date +%s)-$$
  answer=$(enqueue "$@")
  # a line of its own, whatever a site says before and after it
  id=$(printf '%s\n' "$answer" | sed -n 's/[[:space:]]*$//; /^[0-9][][A-Za-z0-9._-]*$/p' | tail -n 1)
  [ -n "$id" ] || { printf '%s took the job but gave no id; look for it: %s\n' "$SCHEDULER" "$answer" >&2; exit 1; }
  rm -f "$LOGS/$id.gone" # of an earlier job with this id
  echo "$MINE" > "$LOGS/$id.mine" || { cancel "$id"; exit 1; }
  echo "$id"
}

# What has become of a job: gone or error by the scheduler's own words, otherwise there (it may not answer).
asked() {
  case $SCHEDULER in
    pbs) said=$(qstat "$1" 2>&1) || true
         state=$(echo "$said" | awk 'NR > 2 { print $5 }')
         case $state:$said in [CFX]:* | *"Unknown Job"* | *"has finished"*) echo gone; return ;; esac ;;
    sge) said=$(qstat -j "$1" 2>&1) || true
         case $said in
           *"do not exist"*) echo gone; return ;;
           *"error reason"*) echo error; return ;;
         esac ;;
    lsf) said=$(bjobs -noheader -o stat "$1" 2>&1) || true
         case $said in DONE* | EXIT* | *"is not found"*) echo gone; return ;; esac ;;
  esac
  echo there
}

# Whether a job has been gone for longer than ID.exit may take.
overdue() {
  [ -s "$LOGS/$1.gone" ] || date +%s > "$LOGS/$1.gone"
  [ $(($(date +%s) - $(cat "$LOGS/$1.gone"))) -ge "$GRACE" ]
}

# The exit status that a job has left; nothing before it has.
left() {
  sed -n "s/^$(cat "$LOGS/$1.mine") //p" "$LOGS/$1.exit" 2>/dev/null
}

status() {
  ls "$LOGS" >/dev/null # over NFS: look again
  if [ -z "$(left "$1")" ]; then
    case $(asked "$1") in
      there) rm -f "$LOGS/$1.gone"; echo running; return ;;
      gone) overdue "$1" || { echo running; return; } ;;
    esac
  fi
  if [ "$(left "$1")" = 0 ]; then echo success; else echo failed; fi
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
