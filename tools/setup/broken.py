"""Run inside an environment: forget its half-installed packages, and print their names.

pip unpacks a package's files, its metadata among them, and writes the list of files (RECORD) last. Killed in between,
it later takes the package for installed. Here a package whose list is missing, or whose listed files are missing or
have another size, loses its metadata folder; pip then installs it over the remains.
"""

import importlib.metadata
import shutil
import sysconfig
from pathlib import Path


def is_whole(package: importlib.metadata.Distribution) -> bool:
    """Whether every file that the package's RECORD lists is there in full."""
    files = package.files
    if not files:
        return False
    for file in files:
        path = Path(str(file.locate()))
        if file.suffix == ".pyc":
            continue  # compiled again when needed
        if not path.is_file() or (file.size is not None and path.stat().st_size != file.size):
            return False
    return True


def forget_broken(site_packages: Path) -> list[str]:
    """Remove the metadata of each half-installed package in `site_packages`; return their names."""
    forgotten = []
    for metadata in sorted(site_packages.glob("*.dist-info")):
        package = importlib.metadata.PathDistribution(metadata)
        installer = package.read_text("INSTALLER")
        if installer is not None and installer.strip() != "pip":
            continue  # conda's packages keep their file lists elsewhere
        if not is_whole(package):
            shutil.rmtree(metadata)
            forgotten.append(metadata.name.split("-")[0])
    return forgotten


if __name__ == "__main__":
    folders = {Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")}
    print("\n".join(name for folder in folders for name in forget_broken(folder)))
