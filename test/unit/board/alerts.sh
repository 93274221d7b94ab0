#!/bin/bash
# test/unit/board/alerts.sh - the alert rules are rules, and ask for numbers that there are
set -u
cd "$(dirname "$0")/../../.." || exit 1
rules=board/deploy/alerts.yml
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Each number that a rule asks for stands in the document, which a test holds against the service.
unknown=
for name in $(grep '^        expr\|^          ' $rules | grep -o 'boreside_[a-z_]*' | sort -u); do
	grep -q "\`$name\`" board/doc/WEB.md || unknown="$unknown $name"
done
if [ -z "$unknown" ]; then echo "ok board/doc/WEB.md has each number of the rules"
else echo "not ok board/doc/WEB.md lacks:$unknown"; fi

if ! command -v promtool >/dev/null; then
	echo "skip promtool is not installed: the rules"
	exit 0
fi
if promtool check rules $rules >"$dir/said" 2>&1; then echo "ok promtool check rules"
else echo "not ok promtool check rules"; sed 's/^/# /' "$dir/said"; fi

# Three of them over made-up numbers: a service that does not answer, a budget that is missed, a key
# that is kept out.
cat >"$dir/test.yml" <<EOF
rule_files: [ "$PWD/$rules" ]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - series: 'boreside_up{instance="a"}'
        values: '1 1 1 0 0 0 0 0 0 0'
      - series: 'boreside_budget_missed_total{instance="a",protocol="p"}'
        values: '0+2x30'
      - series: 'boreside_budget_images_total{instance="a",protocol="p"}'
        values: '0+100x30'
      - series: 'boreside_budget_missed_total{instance="a",protocol="q"}'
        values: '0+0x30'
      - series: 'boreside_budget_images_total{instance="a",protocol="q"}'
        values: '0+100x30'
      - series: 'boreside_sealed_refused_total{instance="a",endpoint="kspace",why="role"}'
        values: '0 0 0 1 1 1 1 1 1 1'
      - series: 'boreside_sealed_refused_total{instance="a",endpoint="status",why="role"}'
        values: '0+0x30'
    alert_rule_test:
      - eval_time: 2m
        alertname: BoresideSealedRefusals
      - eval_time: 6m
        alertname: BoresideSealedRefusals
        exp_alerts:
          - exp_labels: { severity: warning, instance: a, endpoint: kspace, why: role }
            exp_annotations:
              summary: "a: kspace kept connections out (role): boreside status says which"
      - eval_time: 2m
        alertname: BoresideDown
      - eval_time: 6m
        alertname: BoresideDown
        exp_alerts:
          - exp_labels: { severity: critical, instance: a }
            exp_annotations:
              summary: "a: the service, or its page, does not answer"
      - eval_time: 20m
        alertname: BoresideBudgetMissed
        exp_alerts:
          - exp_labels: { severity: warning, instance: a, protocol: p }
            exp_annotations:
              summary: "a: more than 1 % of p's images late"
EOF
if promtool test rules "$dir/test.yml" >"$dir/said" 2>&1; then echo "ok promtool test rules"
else echo "not ok promtool test rules"; sed 's/^/# /' "$dir/said"; fi
