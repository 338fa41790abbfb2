#!/bin/sh
# A task with nothing but curl: created, claimed by a worker, reported and read.
#
#   CARILLON_KEY=$(cat data/admin-key) examples/curl/tasks.sh
set -eu
url=${CARILLON_URL:-http://127.0.0.1:8080}

call() { # method, path, body
  curl --silent --show-error --fail-with-body --request "$1" "$url$2" \
    --header "Authorization: Bearer $CARILLON_KEY" \
    --header "Content-Type: application/json" ${3:+--data "$3"}
  echo
}
field() { grep -o "\"$1\": *\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4; } # the first such string in a JSON response

# Without a target, a task waits for a pull worker.
task=$(call POST /v1/tasks '{"type": "resize", "key": "image-7", "payload": {"width": 640}}')
id=$(echo "$task" | field id)
echo "created   $id"

# A worker claims tasks and waits up to 20 seconds for one. The token identifies this claim.
work=$(call POST /v1/work/claim '{"types": ["resize"], "max": 1, "wait": "20s", "worker": "curl"}')
token=$(echo "$work" | field token)
echo "claimed   $work"

# Report the result. A second report is stale and changes nothing.
report='{"results": [{"id": "'$id'", "token": "'$token'", "outcome": "completed", "output": {"bytes": 51200}}]}'
echo "reported  $(call POST /v1/work/report "$report")"
echo "repeated  $(call POST /v1/work/report "$report")"
echo "ended     $(call GET "/v1/tasks/$id" | field status)"

# A task due tomorrow, cancelled by its business key.
call POST /v1/tasks '{"type": "remind", "key": "order-42", "delay": "1d"}' >/dev/null
echo "cancelled $(call POST /v1/tasks/cancel '{"type": "remind", "key": "order-42"}')"
