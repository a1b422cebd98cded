"""Provide problems of TSPLIB95, checked against their known SHA-256.

    python systems/data_scripts/tsplib.py --out data [--source FOLDER] [--archive ZIP]

An existing folder (``--source``, else ``tsplib`` beside the first folder of treebanks of NONPROJ_TREEBANKS, else
../shared/tsplib) is used in place, without copying.  Otherwise the files are made in ``tsplib`` in the folder
``--out``, unless they are there, from the public repository, or from ``--archive``, its ZIP file downloaded by hand.
The folder's path is printed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import zipfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "data_scripts"))

from fetch import check, download, treebank_folders  # noqa: E402
from treebanks import TreebankError, write_file  # noqa: E402

URL = "https://github.com/rhgrant10/tsplib95/archive/refs/heads/master.zip"
INSIDE = "archives/problems/tsp/"

PROBLEMS = {
    "burma14": (3323, "c2f10b100ad1a00bba19094e33ab3c05fb50203352151e23252eba6f85d5c3e7"),
    "ulysses16": (6859, "46064545dbb24b7f53b9b26802b422a903d92bc51ab835a73ec15733ab3cac46"),
    "gr17": (2085, "b18d6060189534ec7c6ea3b50b6ba793d1a3bd22b38e99bf9f422338ffa203fa"),
    "gr21": (2707, "3ff0ab452689b2e9ffb7aa206a7dcee4e6053dbb915afa99e66005f84e8b54b4"),
    "ulysses22": (7013, "5d78d3131b51d4130c28495ecc558da9208fbb9a8f4f7d38535421371ba79898"),
    "gr24": (1272, "7fcf61204842785f06c58e7098a3e1eb2786831179e115645083ce500c065779"),
    "fri26": (937, "80d6b51cf41459ba33ca883324f50b2f0694a4b787f2ae153c9cd97c8d8948c0"),
    "bayg29": (1610, "6b6a501a2a4933e9b6614f905b79e1d3f9e5093a56ef0d3deaf8fbf440a17a3b"),
    "bays29": (2020, "385c381b3bf28ed9f1065cb1672d02d1909b0eb66eab111d7c9887f9a796dc8f"),
    "dantzig42": (699, "44e695b2084b13fe3efe790c783a4db1745df8947a482b1c8edcda63cb15b29d"),
    "swiss42": (1273, "0dbcd4742ec894c70135c5873cbb06f49a643bdd6efbb755f8e02aa9faad8da4"),
    "att48": (10628, "7a7b04423c4463e873ec5d1f0592ad4a5cba168018e3f4edfd7f7e541fde03ac"),
    "gr48": (5046, "34270ecc31771f784582a9e0facc0b59fa7b231fb69c203ff9f0a76bf211dbfe"),
    "hk48": (11461, "f62c053a704daacc56ff4d6156e8e6c180263c2767c80637f901deeb08a6b596"),
    "eil51": (426, "66c05ad077ffd64d5778e358bbd16be049f8c8ae880cbd24f034487331d1ccce"),
    "berlin52": (7542, "8496a5838133e3c3eb25a9fa8893b1ac302593fc8dc325350643a0cabd8abadc"),
    "brazil58": (25395, "7bd4c233951e3ddcf08118798d38dd42a8d3eb679988e389bf793b7dba231790"),
    "st70": (675, "60c09e8886609bf22d6dc699fe7d7aa1924207d084578aad1a377ec65cf15b1b"),
    "eil76": (538, "74a81d109969e0e46ecc62ff9bd051bfce36b508326bfcd22168e58d03af2447"),
    "pr76": (108159, "5746518c9358041835e887663ad6c8b65432ff4b21eabf69e46417b4324ddcec"),
    "gr96": (55209, "d03f1f2a5dbddfff39fdfa2fa8982fa01708065dc638446633dd6ca1c5c56979"),
    "rat99": (1211, "f880e9afe0b655b5b0deae0b8835a5b48622172e28a1c1fc9bf70100cb97b46a"),
    "kroA100": (21282, "e103100c1cf31dfc06be95a9d04011b5a8753bb65a3339594ca34404e574bdf5"),
    "kroB100": (22141, "283d8c912e3334deea76cc9fe95e915d09111979e7753d0affaf14d9aa21cdbe"),
    "kroC100": (20749, "aef750b8051e011df3b0fae21f4d71273cf129bcf7f2a9b697c2406bcaec68d2"),
    "kroD100": (21294, "e2297d9c40abc8341792e7b785e7a9c04ed21dfda0c667d9388888b4ba8cb52d"),
    "kroE100": (22068, "de5a20663b3903407150d1798c9be517d2df2030d7a910ddc9fc3c024a5c3bb4"),
    "rd100": (7910, "6f62863c4f5d9fe1d7226077923716b8d0ba76d58bae7eb65fdaff127c5cdf5c"),
    "eil101": (629, "537eb4836839ec6e4ff02fb9ca6833fa083a398b5fbb076b05954f0cbb7053c4"),
    "lin105": (14379, "8d34cafef4279bf6ab077a5c5c75bc4757a509f9cbbfd42f7e3170a5e280e1cb"),
    "pr107": (44303, "e0d774d2e853fbb1a507f06e8aa83e625690edc29866268e970471ea6febf65b"),
    "gr120": (6942, "de903724360c2ec745b1ec9119a1bd5679c49abff8ad39ef2e4e75e59e9b5d54"),
    "pr124": (59030, "88d68985ef106d22d1f71ed596dbb19d044b4ef6c848015ed42be5f36bb95f45"),
    "bier127": (118282, "a4c944ca4b32fc9facd00ab664e47ebc37853f4349b971e5094cea4215ff71da"),
    "ch130": (6110, "b9304715dff0085925598a51f36c24b7cf390cb991bd8262f061dd7497bd8742"),
    "pr136": (96772, "15b7b21610bcc291167d380367f9e2f220a9ba1ad8216567c899e9382f9952c4"),
    "ch150": (6528, "05abd424f773269b13477d367e534797aac080fb536a28074a72a9c0ba8064f5"),
    "kroA150": (26524, "acfeddc0cf4dd78ae69dd0c379b52b4031a4a8daa61a0cab3f46c1e3e2a616ba"),
    "u159": (42080, "1659117da1c9b76e2d63a2a622a3991660a1df655c03f31bb9b2e95f5c7e0365"),
    "rat195": (2323, "8218a9ebc7b7af2044cf8a27929513eb6975e75af2a87ddae8510c6f275796a5"),
    "kroA200": (29368, "fd1f7640e823286826796bfccd103787c25f0b52e7275fae7eabf286303c0cbe"),
    "a280": (2579, "3fb489af4be6d04f2e84e73ec8302c32c65e6d344187b2347685fb311416e7bf"),
    "lin318": (42029, "0de63cddb2a3ae9b10f3eaee4390ece107e2355445cdb5240db65a90eb1fe5fc"),
}
"""The length of an optimal tour, as TSPLIB95 publishes it, and the SHA-256 of the file, by problem."""


def locate(folder: Path) -> Path | None:
    """Return a folder if it has all files, unchanged; None where one is missing."""
    if not all((folder / f"{name}.tsp").is_file() for name in PROBLEMS):
        return None
    for name, (_, digest) in PROBLEMS.items():
        check((folder / f"{name}.tsp").read_bytes(), digest, str(folder / f"{name}.tsp"))
    return folder


def unpack(archive: Path, folder: Path) -> Path:
    """Write the files of the repository's ZIP file into a folder, and return it."""
    contents = {}
    try:
        with zipfile.ZipFile(archive) as packed:
            for path in packed.namelist():
                name = Path(path).stem
                if path.endswith(f"{INSIDE}{name}.tsp") and name in PROBLEMS:
                    contents[name] = packed.read(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise TreebankError(f"{archive}: not a ZIP file of the repository ({error})") from None
    for name, (_, digest) in PROBLEMS.items():
        if name not in contents:
            raise TreebankError(f"{archive}: there is no {INSIDE}{name}.tsp")
        check(contents[name], digest, f"{name}.tsp, in {archive.name}")
    for name, data in contents.items():
        write_file(folder / f"{name}.tsp", data)
    return folder


def fetch(out: Path, source: Path | None = None, archive: Path | None = None) -> Path:
    """Return the folder of all problems; download them where they are missing."""
    if archive is not None:
        return unpack(archive, out / "tsplib")
    for folder in (source, out / "tsplib"):
        if folder is not None and (found := locate(folder)):
            return found
    with tempfile.TemporaryDirectory() as folder:
        sys.stderr.write(f"fetching TSPLIB95 from {URL}\n")
        return unpack(download(URL, Path(folder)), out / "tsplib")


def main(arguments: list[str] | None = None) -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("data"), help="folder to write to (default: data)")
    parser.add_argument("--source", type=Path, help="folder of problems")
    parser.add_argument("--archive", type=Path, help="the ZIP file of the repository, downloaded by hand")
    options = parser.parse_args(arguments)
    source = options.source or treebank_folders(None)[0].parent / "tsplib"
    try:
        sys.stdout.write(f"{fetch(options.out, source, options.archive)}\n")
    except (TreebankError, OSError) as error:
        sys.stderr.write(f"tsplib: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
