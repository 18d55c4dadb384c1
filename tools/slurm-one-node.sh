#!/usr/bin/env bash
# One-node Slurm on loopback, as root, without systemd, cgroups or a database.
#   slurm-one-node.sh install            apt packages, if they are not here; exit status 5: they cannot be had
#   slurm-one-node.sh remove             those that install installed
#   slurm-one-node.sh start              munged, slurmctld, slurmd; waits for an idle node
#   slurm-one-node.sh stop               ends exactly the processes that start started; nothing if it did not
#   slurm-one-node.sh run CMD...         start; CMD; stop (also on failure); CMD's exit status
set -euo pipefail
unset SLURM_CONF                # a cluster's own, which scancel would ask
BASE=${SLURM_TEST_BASE:-${TMPDIR:-/tmp}/slurm-one-node-$(id -un)}
CONF=/etc/slurm/slurm.conf      # must be the default path: the jobstep plugin
                                # strips SLURM_CONF from the nested srun's environment
MARK="# made by slurm-one-node.sh in $BASE"    # one at a time on a host: they share CONF and ports
export PATH=$PATH:/usr/sbin:/sbin

# What was not here before is written down, for `remove`. RUNLEVEL keeps Debian from starting services.
install_() {
    if command -v slurmctld >/dev/null && command -v munged >/dev/null; then return 0; fi
    mkdir -p "$BASE"
    dpkg-query -W -f '${Package}\n' | sort > "$BASE/before"
    local lists=yes packages=(slurm-wlm munge)
    apt-get update -qq -o APT::Update::Error-Mode=any || lists=no
    if ! apt-get install -y -qq --download-only --no-install-recommends "${packages[@]}"; then
        echo "the packages cannot be fetched; their lists: $lists" >&2
        if [ "$lists" = no ]; then exit 5; else exit 6; fi
    fi
    RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}"
    dpkg-query -W -f '${Package}\n' | sort | comm -13 "$BASE/before" - > "$BASE/installed"
}

remove() {
    if [ -s "$BASE/installed" ]; then
        xargs env DEBIAN_FRONTEND=noninteractive apt-get purge -y -qq < "$BASE/installed"
        rm -f "$BASE/installed"
    fi
}

conf() {
    local host cpus mem
    host=$(hostname -s); cpus=$(getconf _NPROCESSORS_ONLN)
    mem=$(awk '/MemTotal/{print int($2/1024*0.9)}' /proc/meminfo)
    if [ -e "$CONF" ] && ! grep -qxF "$MARK" "$CONF"; then
        echo "refusing to overwrite $CONF, which this script did not make in $BASE" >&2; exit 3
    fi
    if running; then echo "already started in $BASE" >&2; exit 3; fi
    mkdir -p "${CONF%/*}" "$BASE"/{state,spool,log,run,munge}
    chmod 700 "$BASE/munge"
    cat > "$CONF" <<E
$MARK
ClusterName=toy
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$BASE/run/munge.socket
CryptoType=crypto/munge
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmctldPort=6817
SlurmdPort=6818
StateSaveLocation=$BASE/state
SlurmdSpoolDir=$BASE/spool
SlurmctldPidFile=$BASE/run/slurmctld.pid
SlurmdPidFile=$BASE/run/slurmd.pid
SlurmctldLogFile=$BASE/log/slurmctld.log
SlurmdLogFile=$BASE/log/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=5,bf_interval=5,defer
EnforcePartLimits=ALL
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc=$BASE/log/jobcomp.log
MinJobAge=86400
MaxJobCount=50000
MaxArraySize=1001
ReturnToService=2
SlurmctldTimeout=120
SlurmdTimeout=120
KillWait=5
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cpus RealMemory=$mem State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP
E
}

start() {
    conf
    BEGUN=yes
    if [ ! -s "$BASE/munge/munge.key" ]; then
        (umask 077; dd if=/dev/urandom of="$BASE/munge/munge.key" bs=1 count=1024 status=none)
    fi
    rm -f "$BASE"/run/munge.socket*
    munged --force --socket="$BASE/run/munge.socket" --key-file="$BASE/munge/munge.key" \
        --pid-file="$BASE/run/munged.pid" --log-file="$BASE/log/munged.log" \
        --seed-file="$BASE/munge/munge.seed"
    munge -n -S "$BASE/run/munge.socket" | unmunge -S "$BASE/run/munge.socket" >/dev/null
    slurmctld -D -c >"$BASE/log/slurmctld.out" 2>&1 & echo $! >"$BASE/run/ctld.childpid"
    for _ in $(seq 50); do scontrol ping 2>/dev/null | grep -q 'is UP' && break; sleep 0.2; done
    slurmd -D -N "$(hostname -s)" >"$BASE/log/slurmd.out" 2>&1 & echo $! >"$BASE/run/slurmd.childpid"
    for _ in $(seq 100); do
        sinfo -h -o '%T' 2>/dev/null | grep -qx idle && { sinfo; return 0; }
        sleep 0.2
    done
    echo "the node did not become idle" >&2; sinfo || true; scontrol show node || true
    tail -n 30 "$BASE"/log/*.log "$BASE"/log/*.out >&2; stop; return 4
}

lives() {       # FILE NAME: whether the process in FILE is still that program: after a restart its id is another's
    [ -s "$1" ] && [ "$(cat "/proc/$(cat "$1")/comm" 2>/dev/null)" = "$2" ]
}

end_pid() {     # FILE NAME: end the process in it, by id, TERM then KILL
    local p
    lives "$@" || { rm -f "$1"; return 0; }
    p=$(cat "$1")
    kill "$p" 2>/dev/null || true
    for _ in $(seq 50); do kill -0 "$p" 2>/dev/null || break; sleep 0.1; done
    kill -9 "$p" 2>/dev/null || true
    rm -f "$1"
}

# Whether the controller that start began in this BASE lives.
running() {
    lives "$BASE/run/ctld.childpid" slurmctld
}

# Whether start began here: its configuration, and a process of this BASE.
started() {
    grep -qxF "$MARK" "$CONF" 2>/dev/null && [ -n "$(find "$BASE/run" -name '*pid' 2>/dev/null)" ]
}

stop() {
    if ! started; then echo "nothing was started here" >&2; return 0; fi
    # whose jobs: those of our controller, which CONF names
    running && scancel -u "$(id -un)" 2>/dev/null || true
    for _ in $(seq 50); do [ -z "$(squeue -h -t R,CG,PD 2>/dev/null)" ] && break; sleep 0.2; done
    end_pid "$BASE/run/slurmd.childpid" slurmd
    end_pid "$BASE/run/ctld.childpid" slurmctld
    end_pid "$BASE/run/munged.pid" munged
    rm -f "$CONF"
    rmdir "${CONF%/*}" 2>/dev/null || true
}

case ${1:-} in
    install) install_ ;;
    start) start ;;
    stop) stop ;;
    remove) remove ;;
    run) shift; BEGUN=no; trap 'if [ $BEGUN = yes ]; then stop; fi' EXIT; start; "$@" ;;
    *) sed -n 2,8p "$0"; exit 2 ;;
esac
