#!/bin/sh
# A gateway and a Prometheus that reads it, on this machine, until Ctrl-C.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
for program in switchboard prometheus; do
  command -v "$program" >/dev/null || {
    echo "$program is not installed" >&2
    exit 1
  }
done
data=$(mktemp -d)
trap 'kill $gateway $prometheus 2>/dev/null; wait; rm -rf "$data"' EXIT INT TERM
switchboard up --metrics 127.0.0.1:9464 &
gateway=$!
prometheus --config.file="$here/prometheus.yml" --storage.tsdb.path="$data" \
  --web.listen-address=127.0.0.1:9090 --enable-feature=exemplar-storage >"$data/log" 2>&1 &
prometheus=$!
echo "Prometheus: http://127.0.0.1:9090" >&2
wait "$gateway"
