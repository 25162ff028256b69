# Shared by the three stages: reward 0 unless a stage says otherwise, and a way to stop with a reason.
export LC_ALL=C
reward=0
trap 'echo "$reward" > /logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit 0; }

# Path and content of every file in a folder, in one text.
dump() {
  (cd "$1" && find . -mindepth 1 ! -type f ! -type d -printf 'neither file nor folder: %P\n' &&
    find . -type f -printf '%P\n' | sort | while IFS= read -r path; do
      echo "== $path"
      cat "$path"
    done)
}
old_is_untouched() { dump /app/old | sha256sum | cmp -s - /tests/old.sha256; }
