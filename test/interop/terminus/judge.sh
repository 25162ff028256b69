# Harbor's Terminus-2 and ours play the same replies, each at a terminal of this machine, Harbor's in a real tmux. Their
# requests to the model are compared word for word; docs/decisions/0032-terminus-2-parity.md lists what may differ.
source test/interop/lib.sh

if ! why=$(can_run); then skip 'terminus-2 beside that of Harbor' "$why"; exit 0; fi
command -v tmux >/dev/null || { skip 'terminus-2 beside that of Harbor' 'tmux is not installed'; exit 0; }
# The reference version of Harbor, or else the newest that installs.
for wanted in ${TERMINUS_HARBOR:-harbor==0.25.0 harbor}; do
  why=$(make_venv "terminus-${wanted//=/-}" 12 "$wanted") && python=$venvs/terminus-${wanted//=/-}/bin/python && break
  echo "no $wanted: $why"
done
[ -n "${python:-}" ] || { skip 'terminus-2 beside that of Harbor' "$why"; exit 0; }
echo "judged by Harbor $("$python" -c 'import importlib.metadata as m; print(m.version("harbor"))')"

program=$(bundle terminus/side-by-side) || { fault 'side-by-side could not be bundled'; exit 0; }
for parser in json xml; do
  judge "terminus-2 sends what Harbor's sends ($parser)" node "$program" "$parser" "$python" "$scratch/terminus-$parser"
done
