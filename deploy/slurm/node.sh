#!/bin/bash
# Runs an Assay node on one machine of a job, for assay.sbatch. Writes its address to a file when it
# is ready, and restarts it if it exits by itself.
set -euo pipefail

LISTEN=${LISTEN:-0.0.0.0}
host=${SLURMD_NODENAME:-$(hostname)}
# One spool per machine: the next job on the machine applies what was left. The node locks it.
export ASSAY_STORE_SPOOL=$STATE/spools/$host-$PORT
export ASSAY_SANDBOX_WORKERS_COUNT=$NODE_CPUS
export ASSAY_ENGINE_WORKERS=$NODE_CPUS
export ASSAY_SERVER_SHUTDOWN_SECONDS=25
ASSAY_STORE_DATABASE=$(cat "$DATABASE")
export ASSAY_STORE_DATABASE

# Slurm sends signals to all processes of a step. A second one would end the node at once, so it is
# not passed on.
stopping=
trap 'stopping=1' TERM

is_ready() {
    local reply
    exec 3<>"/dev/tcp/$LISTEN/$PORT" || return 1
    printf 'GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
    read -r reply <&3
    exec 3>&-
    [[ $reply == *" 200 "* ]]
}

while [ -z "$stopping" ]; do
    assay serve --strict --listen "$LISTEN:$PORT" &
    node=$!
    if [ ! -e "$RUN/ready/$host" ]; then
        for ((waited = 0; waited < READY_SECONDS; waited++)); do
            if (is_ready) 2>/dev/null; then
                echo "http://$host:$PORT" >"$RUN/ready/$host"
                break
            fi
            kill -0 "$node" 2>/dev/null || break
            sleep 1
        done
    fi
    # A signal interrupts `wait`.
    while kill -0 "$node" 2>/dev/null; do wait "$node" || true; done
    if [ -z "$stopping" ]; then
        echo "the node exited; restarting it" >&2
        sleep 2
    fi
done
