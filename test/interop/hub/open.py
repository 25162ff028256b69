"""Python's client of the Hub reads what we uploaded, and uploads something for us to read."""
import hashlib
import os
import sys

import huggingface_hub
from huggingface_hub import DatasetCard, HfApi, snapshot_download

rows, scratch = int(sys.argv[1]), sys.argv[2]
api = HfApi()
info = api.dataset_info("me/tasks", files_metadata=False)
assert info.private and info.sha, info
assert sorted(api.list_repo_files("me/tasks", repo_type="dataset")) == [".gitattributes", "README.md", "tasks.parquet"]
folder = snapshot_download("me/tasks", repo_type="dataset", revision=info.sha)
entry = next(e for e in api.list_repo_tree("me/tasks", repo_type="dataset", recursive=True) if e.path == "tasks.parquet")
with open(os.path.join(folder, "tasks.parquet"), "rb") as file:
    data = file.read()
assert data[:4] == b"PAR1" and hashlib.sha256(data).hexdigest() == entry.lfs.sha256, entry
card = DatasetCard.load(os.path.join(folder, "README.md"))
assert card.data.to_dict()["configs"][0]["config_name"] == "default", card.data
assert card.data.to_dict()["ot_agent"]["uploads"][0]["rows"] == rows, card.data

theirs = os.path.join(scratch, "theirs")
os.makedirs(theirs)
for name, content in {"small.txt": b"small\n", "large.parquet": data + b"more"}.items():
    with open(os.path.join(theirs, name), "wb") as file:
        file.write(content)
api.create_repo("me/theirs", repo_type="dataset", private=True)
api.upload_folder(repo_id="me/theirs", repo_type="dataset", folder_path=theirs, commit_message="from Python")
# `hub list` and `hub squash` send the same requests as the Python client.
assert {found.id for found in api.list_datasets(author="me", expand=["private"])} == {"me/tasks", "me/theirs"}
api.create_repo("me/history", repo_type="dataset")
for text in ["one", "two"]:
    api.upload_file(path_or_fileobj=text.encode(), path_in_repo="a.txt", repo_id="me/history", repo_type="dataset")
assert len(api.list_repo_commits("me/history", repo_type="dataset")) == 3
api.super_squash_history("me/history", repo_type="dataset", commit_message="one commit")
assert [commit.title for commit in api.list_repo_commits("me/history", repo_type="dataset")] == ["one commit"]
assert api.hf_hub_download("me/history", "a.txt", repo_type="dataset")
print(f"huggingface_hub {huggingface_hub.__version__}: read {rows} tasks, and wrote two files")
