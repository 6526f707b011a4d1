#!/usr/bin/env bash
# Makes a store as diagd of an earlier commit writes it: NAME.db.gz, or NAME.sql.gz of PostgreSQL, and NAME.json with
# what that diagd said of it and what opens it. Needs git, Go, curl, jq, nsd and pg_dump.
#
#	bash make.sh NAME COMMIT [sqlite|postgres]
#
# For PostgreSQL, PGPORT leads to a server on loopback whose user postgres needs no password, and PGCLOCK is the file
# that libfaketime reads its time from (FAKETIME_TIMESTAMP_FILE, with FAKETIME_CACHE_DURATION=1).
set -euo pipefail
name=$1 commit=$2 kind=${3:-sqlite}
here=$(cd "$(dirname "$0")" && pwd)
work=${WORK:-/tmp/diagd-stores}/$commit
port=18080 dns=15353
url=http://127.0.0.1:$port
mkdir -p "$work"

# The program of the commit, with a clock that DATE_SHIFT moves by so many seconds.
if [ ! -x "$work/diagd" ]; then
  git -C "$here" worktree add -q --detach "$work/tree" "$commit"
  std=$(go env GOROOT)/src/time
  sed '/^func Now/,/^}/s/sec, nsec, mono := runtimeNow()/&; sec += shift/' "$std/time.go" >"$work/time.go"
  cat >"$work/shift.go" <<'EOF'
package time

import "syscall"

var shift = func() int64 {
	text, _ := syscall.Getenv("DATE_SHIFT")
	n, _ := atoi(text)
	return int64(n)
}()
EOF
  jq -n --arg a "$std/time.go" --arg b "$std/shift.go" --arg w "$work" \
    '{Replace: {($a): ($w + "/time.go"), ($b): ($w + "/shift.go")}}' >"$work/overlay.json"
  (cd "$work/tree" && go build -overlay "$work/overlay.json" -o "$work/diagd" ./cmd/diagd)
  git -C "$here" worktree remove --force "$work/tree"
fi

# A domain for hosted SPF and watches.
cat >"$work/zone" <<'EOF'
$ORIGIN example.com.
@ 3600 IN SOA ns1 hostmaster 1 7200 3600 1209600 3600
@ 3600 IN NS ns1
@ 3600 IN MX 10 mx1
@ 3600 IN TXT "v=spf1 ip4:192.0.2.0/24 -all"
_dmarc 3600 IN TXT "v=DMARC1; p=reject; rua=mailto:dmarc@example.com"
ns1 3600 IN A 127.0.0.1
mx1 3600 IN A 127.0.0.1
EOF
cat >"$work/nsd.conf" <<EOF
server:
  ip-address: 127.0.0.1@$dns
  username: ""
  zonesdir: "$work"
  pidfile: ""
  xfrdfile: ""
  zonelistfile: "$work/zones"
remote-control:
  control-enable: no
zone:
  name: example.com
  zonefile: zone
EOF
nsd -d -c "$work/nsd.conf" 2>"$work/nsd.log" &
nsd=$!
trap 'kill $nsd $(cat "$work/pid" 2>/dev/null) 2>/dev/null || true; wait' EXIT

case $kind in
sqlite)
  rm -f "$work/$name.db"*
  store=sqlite:$work/$name.db
  ;;
postgres)
  export PGHOST=127.0.0.1 PGUSER=postgres
  dropdb --if-exists "$name" && createdb "$name"
  store="postgres://postgres@127.0.0.1:$PGPORT/$name?sslmode=disable"
  ;;
esac

# at moves all clocks.
at() {
  export DATE_SHIFT=$(($(date -d "$1" +%s) - $(date +%s)))
  if [ $kind = postgres ]; then
    printf '%+d\n' $DATE_SHIFT >"$PGCLOCK"
    sleep 2 # it is read once a second
  fi
}
d() { "$work/diagd" "$@" --store "$store"; }
has() { "$work/diagd" help "$@" 2>&1 | grep -qE "^  diagd $*( |$)"; }

# serve starts the server, and stop ends it.
serve() {
  : >"$work/log"
  "$work/diagd" serve --listen 127.0.0.1:$port --ip-rate 0 --resolver udp://127.0.0.1:$dns --store "$store" \
    ${worlds:-} "$@" >>"$work/log" 2>&1 &
  echo $! >"$work/pid"
  for _ in $(seq 200); do curl -s -o "$work/out" $url/ && return; sleep 0.1; done
  cat "$work/log" && exit 1
}
stop() {
  kill "$(cat "$work/pid")"
  while kill -0 "$(cat "$work/pid")" 2>/dev/null; do sleep 0.1; done
  rm "$work/pid"
  ! grep -E 'level=ERROR|panic' "$work/log"
}

# call asks for an operation: call SECRET PATH BODY [HEADER].
call() {
  curl -sS -H "Authorization: Bearer $1" -H "Content-Type: application/json" ${4:+-H "$4"} -d "$3" $url/public/v1$2
}

# submit sends the form of a page whose address begins so, with fields of its own, and prints the address that it leads
# to: submit PAGE ACTION [NAME=VALUE] …
submit() {
  local page=$1 action=$2 form field data=()
  for field in "${@:3}"; do data+=(--data-urlencode "$field"); done
  form=$(browse "$page" | tr '\n' ' ' | grep -oP "<form[^>]*action=\"$action[^\"]*\".*?</form>" | head -1)
  while read -r field; do
    data+=(--data-urlencode "$field")
  done < <(grep -oP '<input[^>]*type="hidden"[^>]*>' <<<"$form" |
    sed -E 's/.*name="([^"]*)".*value="([^"]*)".*/\1=\2/')
  browse "$(grep -oP 'action="\K[^"]*' <<<"$form" | head -1)" -o "$work/page" -w '%{url_effective}' "${data[@]}"
}
browse() { curl -sSL -b "$work/jar" -c "$work/jar" -H "Sec-Fetch-Site: same-origin" "${@:2}" "$url$1"; }

# say notes what the program says by a command.
said=[]
say() {
  local out
  out=$(d "$@" --json)
  [ "$1 ${2:-}" != "account show" ] || out=$(jq 'first(arrays[0], objects)' <<<"$out")
  said=$(jq --argjson out "$out" --arg command "$*" '. + [{command: ($command / " "), said: $out}]' <<<"$said")
}

secret() { jq -r 'first(arrays[0], objects).secret'; } # some print a list of one
id() { jq -r 'first(arrays[0], objects).id'; }

# September: accounts, and keys of all kinds.
export DIAG_DATA=$here # the folder has a plan with so small an allowance that there is overage
at "2026-09-10 08:00 UTC"
serve
first=$(cat "$work/log" "$work"/diagd-first-start* 2>/dev/null | grep -oE "svc_live_[a-z2-7]{36}" | head -1 || true)
own=$(d account list --json | id)
ada=$(d account create --name "Ada & Co." --plan small --json | id)
d account set "$ada" --overage on --budget-cents 500
scopes=--scopes=dns:read,mail:read,mail:write
live=$(d key create --account "$ada" --name live $scopes --json)
d key create --account "$ada" --name elsewhere $scopes --ip 192.0.2.0/24,2001:db8::/32 --json >"$work/elsewhere"
d key create --account "$ada" --name ends --environment test $scopes --expires-in 720h --json >"$work/ends"
d key create --account "$ada" --name loopback $scopes --ip 127.0.0.0/8 --json >"$work/loopback"
revoked=$(d key create --account "$ada" --name leaked $scopes --json)
rotated=$(d key create --account "$ada" --name before $scopes --json)
d key revoke "$(id <<<"$revoked")" --reason leak
successor=$(d key rotate "$(id <<<"$rotated")" --grace 24h --json)
key=$(secret <<<"$live")
for text in a b c d e f g; do call "$key" /text/upper '{"text":"'$text'"}'; done
call "$(secret <"$work/loopback")" /text/lower '{"text":"A"}' "Idempotency-Key: september-1"
call "$first" /text/lower '{"text":"A"}'
stop

# October: invoices, channels, hosted SPF and a cheaper plan to come.
at "2026-10-12 08:00 UTC"
serve
for text in a b c d e f; do call "$key" /text/upper '{"text":"'$text'"}'; done
call "$(secret <<<"$successor")" /text/lower '{"text":"A"}'
if has spf; then
  d spf create --key "$(id <<<"$live")" --domain example.com --include-host spf.example.net --interval 24h \
    --resolver udp://127.0.0.1:$dns
  d spf create --key "$(id <<<"$live")" --name parts --domain example.net --include-host parts.example.net \
    --interval 24h --record "v=spf1 $(printf 'ip4:198.51.100.%d ' $(seq 1 2 120))-all"
fi
if has channel; then
  d channel create --account "$ada" --name ops --target https://hooks.example.com/T/B --json >"$work/ops"
  d channel create --account "$ada" --name chat --kind slack --target https://slack.example.com/T/B \
    --categories usage,billing
  d channel create --account "$ada" --name gone --target https://gone.example.com/ --unsigned --json >"$work/gone"
  d channel disable --account "$ada" "$(id <"$work/gone")"
  d channel create --account "$ada" --name mail --kind email --target ada@example.com
  d channel rotate --account "$ada" "$(id <"$work/ops")" --overlap 720h
fi
stop
if has plan; then
  jq '[.[] | select(.id == "small") | .credits = 4]' "$here/plans.json" >"$work/next.json"
  d plan import "$work/next.json" --from 2026-12
  d account set "$ada" --tax 19 --tax-note VAT
  d account set "$own" --tax 7.7
fi
if has billing; then
  d billing close --month 2026-09
  at "2026-10-12 10:30 UTC"
  serve --biller "file:$work/bills"
  for _ in $(seq 400); do
    d billing invoices --account "$ada" --json | grep -qE '"(paid|pending)"' && break
    sleep 0.2
  done
  stop
fi
if has billing credit; then
  d billing credit "$ada" 2026-09 --cents 119 --reason "an outage" --by ada@example.com
  d billing void "$own" 2026-09 --reason "our own use"
  d billing suspend "$own" --reason "no card"
  d billing resume "$own" --reason "a card"
fi

# November: a watch, members and what they keep, an idempotent reply.
at "2026-11-20 08:00 UTC"
has billing && d billing close --month 2026-10
has plan && d account set "$ada" --plan free
if has member; then
  d member add grace@example.com --account "$ada" --role developer
  d member add ada@example.com --account "$ada" --role owner
fi
serve
call "$key" /text/upper '{"text":"A"}' "Idempotency-Key: november-1" >"$work/reply"
call "$key" /certificates/csr/parse '{"csr":"none"}' # by a scope that is deprecated
if has watch; then
  d watch create example.com --account "$ada" --checks spf/lookup,dmarc/lookup --every 168h
  d watch run example.com --account "$ada"
  d watch create example.net --account "$ada" --checks mail --every 168h
  for _ in $(seq 400); do
    [ "$(d watch history example.com --account "$ada" --json)" = "[]" ] || break
    sleep 0.2
  done
fi
if has member; then
  rm -f "$work/jar"
  link=$(d member link ada@example.com --account "$ada" --public-url $url --json | jq -r .url)
  submit "${link#"$url"}" /dashboard/enter
  echo
  kept=$(submit /dashboard/playground/text/stats?example /dashboard/playground/text/stats "f.text=kept by Ada")
  kept=${kept#"$url"} kept=${kept%#*}
  share=$(submit "$kept" /dashboard/shares | grep -oP '(link|shared)=\K[^&#]*')
fi
stop

at "2026-11-20 09:00 UTC"
for command in "account list" "usage --account $own --month 2026-09" "audit" "billing invoices" "billing notes" \
  "plan list" "spf list" "log"; do
  # shellcheck disable=SC2086 # words
  if has ${command%% --*}; then say $command; fi
done
for command in "account show $ada" "usage --month 2026-09" "usage --month 2026-10" "usage --month 2026-11" \
  "usage --month 2026-12" "key list" "channel list" "channel deliveries" "member list" "watch list" \
  "watch history example.com --since 200000h" "watch show example.com" "billing charges --month 2026-10"; do
  # shellcheck disable=SC2086 # words
  if has $(sed -E 's/ (acc_|--|example).*//' <<<"$command"); then
    if [[ $command == "account show"* ]]; then say $command; else say $command --account "$ada"; fi
  fi
done
jq -n --arg commit "$commit" --arg key "$key" --arg account "$ada" --arg foreign "$(secret <"$work/elsewhere")" \
  --arg revoked "$(secret <<<"$revoked")" --arg ended "$(secret <"$work/ends")" --arg reply "$(<"$work/reply")" \
  --arg session "$(grep -oP 'diagkit\t\K\S+$' "$work/jar" 2>/dev/null)" \
  --arg kept "${kept:-}" --arg share "${share:+/r/$share}" \
  --argjson layout "$(d migrate --json 2>/dev/null || echo '{"to_version": 1}')" '$ARGS.named' -c >"$here/$name.json"
jq -c '.[]' <<<"$said" >>"$here/$name.json"
case $kind in
sqlite)
  ls -la "$work/$name.db"*
  gzip -9n <"$work/$name.db" >"$here/$name.db.gz"
  ;;
postgres)
  # Without what only psql understands, and without the name of the schema.
  pg_dump --inserts --no-owner --no-privileges "$name" |
    sed -E '/^(\\|--|SET |SELECT .*search_path|$)/d; s/\bpublic\.//g' | gzip -9n >"$here/$name.sql.gz"
  dropdb "$name"
  ;;
esac
ls -la "$here/$name".*
