#!/bin/bash
# The untidy state the task starts from.
set -euo pipefail
cd /app
find share -type d -exec chmod 755 {} +
find share -type f -exec chmod 644 {} +
chmod 777 share/tools 'share/tools/list users.sh' share/incoming share/reports/2024
chmod 666 share/tools/keys/host.key share/reports/keys.txt 'share/reports/2024/q 2.txt'
chmod 4755 share/tools/backup
chmod 602 share/incoming/upload.dat
chmod 400 share/README.md
chmod 1777 share/turnkeys
chmod 755 outside outside/tools outside/tools/run.sh
chmod 666 outside/manual.txt
ln -s /app/outside/manual.txt share/reports/manual.txt
ln -s ../outside/tools share/linked-tools
