#!/bin/sh
# The life of a task with nothing but curl: made, claimed by a worker, reported, and looked at.
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
field() { grep -o "\"$1\": *\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4; } # the first such string of a JSON answer

# A task that nobody is told about waits for workers.
task=$(call POST /v1/tasks '{"type": "resize", "key": "image-7", "payload": {"width": 640}}')
id=$(echo "$task" | field id)
echo "made      $id"

# A worker asks for work, and waits up to 20 seconds for it. The token names this claim and no other.
work=$(call POST /v1/work/claim '{"types": ["resize"], "max": 1, "wait": "20s", "worker": "curl"}')
token=$(echo "$work" | field token)
echo "claimed   $work"

# Done. A second report is stale: the claim is over, so it changes nothing.
report='{"results": [{"id": "'$id'", "token": "'$token'", "outcome": "completed", "output": {"bytes": 51200}}]}'
echo "reported  $(call POST /v1/work/report "$report")"
echo "repeated  $(call POST /v1/work/report "$report")"
echo "ended     $(call GET "/v1/tasks/$id" | field status)"

# One for tomorrow, and it is not wanted any more: cancelled by its business key.
call POST /v1/tasks '{"type": "remind", "key": "order-42", "delay": "1d"}' >/dev/null
echo "cancelled $(call POST /v1/tasks/cancel '{"type": "remind", "key": "order-42"}')"
