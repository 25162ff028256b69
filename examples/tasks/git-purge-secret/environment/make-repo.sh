#!/bin/bash
# Builds the repository: two branches, a merge, two tags, and a settings file that should never have been committed.
set -euo pipefail
export HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1
git init -q -b main "$1"
cd "$1"
minute=0
commit() { # author, message
  minute=$((minute + 7))
  local when="2024-03-05T09:$(printf '%02d' $((minute % 60))):00+0100"
  git add -A
  GIT_AUTHOR_NAME=$1 GIT_AUTHOR_EMAIL=${1,,}@shop.example GIT_AUTHOR_DATE=$when \
    GIT_COMMITTER_NAME=$1 GIT_COMMITTER_EMAIL=${1,,}@shop.example GIT_COMMITTER_DATE=$when \
    git commit -q --allow-empty -m "$2"
}

mkdir -p src docs
echo 'echo "open for business"' > src/shop.sh
echo '# Shop' > README.md
commit Ana 'Open the shop'
printf 'PAYMENT_URL=https://pay.example\nPAYMENT_KEY=pk-51-tulip-harbour\n' > settings.env
commit Ben 'Add payment settings'
echo 'echo "paid"' > src/pay.sh
printf '\nRun src/pay.sh to pay.\n' >> README.md
commit Ana 'Take payments'
git -c user.name=Ana -c user.email=ana@shop.example tag v1.0
git checkout -q -b refunds
mkdir -p config
git mv settings.env config/settings.env
printf 'REFUND_KEY=pk-77-granite-lantern\n' >> config/settings.env
commit Cho 'Move the settings and add the refund key'
echo 'echo "refunded"' > src/refund.sh
commit Cho 'Pay money back'
git checkout -q main
echo 'Prices are in euro.' > docs/prices.md
commit Ana 'Explain the prices'
minute=$((minute + 7))
GIT_AUTHOR_NAME=Ana GIT_AUTHOR_EMAIL=ana@shop.example GIT_AUTHOR_DATE='2024-03-05T09:49:00+0100' \
  GIT_COMMITTER_NAME=Ana GIT_COMMITTER_EMAIL=ana@shop.example GIT_COMMITTER_DATE='2024-03-05T09:49:00+0100' \
  git merge -q --no-ff -m 'Merge the refunds' refunds
git tag v1.1
git rm -q --cached config/settings.env
rm config/settings.env
echo 'settings.env' > .gitignore
commit Ben 'Stop tracking the settings'
git checkout -q refunds
mkdir -p docs
printf 'Refunds take three days.\n' > docs/refunds.md
commit Cho 'Explain refunds'
git checkout -q main
