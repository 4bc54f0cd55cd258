#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the systematic cases into tests/fuzz/cases: for every parser a small good input, and that input with each
field of its header in turn at the ends of its range. Cases that the fuzzer found are kept beside them (found-*)."""
import gzip
import os
import struct

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")
EXTREMES = ("0", "-1", "1", "2147483648", "9223372036854775807", "99999999999999999999", "1e999", "nan", "", "x" * 90)


def put(target, name, data):
    if isinstance(data, str):
        data = data.encode("latin-1")
    os.makedirs(os.path.join(ROOT, target), exist_ok=True)
    with open(os.path.join(ROOT, target, name), "wb") as out:
        out.write(data)


def noise(n, seed=1):
    """Bytes that are the same on every run, none of them zero."""
    out, state = bytearray(), seed
    for _ in range(n):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        out.append(1 + (state >> 16) % 255)
    return bytes(out)


def binary(target, good, fields):
    """Cases of a good input with (offset, struct format, values) of its fields changed."""
    put(target, "good", good)
    for at, form, values in fields:
        for i, value in enumerate(values):
            changed = bytearray(good)
            struct.pack_into(form, changed, at, value)
            put(target, f"field-{at:03}-{i}", bytes(changed))
    put(target, "empty", b"")
    put(target, "noise", noise(500, 7))
    if len(good) < 4000:
        put(target, "doubled-head", good[:40] + good)
    put(target, "hole", good[: len(good) // 2 - 3] + good[len(good) // 2 + 4 :])


def text(target, good, changes):
    put(target, "good", good)
    for i, (old, new) in enumerate(changes):
        assert old in good, (target, old)
        put(target, f"change-{i:02}", good.replace(old, new, 1))
    put(target, "empty", "")
    put(target, "nul", good[:20] + "\0" + good[20:])
    put(target, "noise", noise(600, 5))
    put(target, "one-line", good.replace("\n", " "))


def headers(target, good, keys):
    """A header of lines 'KEY value' before the payload: each key at its extremes, and left out."""
    put(target, "good", good)
    head, payload = good[:4096].split(b"\0")[0].decode(), good[4096:]
    lines = head.rstrip("\n").split("\n")
    for key in keys:
        index = next(i for i, line in enumerate(lines) if line.split()[0] == key)
        for i, value in enumerate((None if index % 4 == 0 else EXTREMES[index % len(EXTREMES)],)):
            changed = list(lines)
            changed[index] = f"{key} {value}" if value is not None else ""
            put(target, f"{key.lower()}-{i}", ("\n".join(changed) + "\n").encode().ljust(4096, b"\0")[:4096] + payload[:64])
    put(target, "empty", b"")
    put(target, "noise", noise(100, 3))


def vdif(n_bit=2, threads=2, frames=5, payload=64, kind=0, extended=(3 << 24 | 128)):
    out = b""
    for frame in range(frames):
        for thread in range(threads):
            out += struct.pack("<8I", 14363767, 28 << 24 | frame, (payload + 32) // 8, kind | (n_bit - 1) << 26 | thread << 16,
                               extended, 0, 0, 0) + noise(payload, frame * 7 + thread)
    return out


WORDS = (0, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


def make_vdif():
    good = vdif()
    binary("vdif", good, [(at, "<I", WORDS) for at in (0, 4, 8, 12, 16)] + [(96 * 4, "<I", WORDS)])
    put("vdif", "good-complex", vdif(4, 1, 6, 64, 1 << 31))
    put("vdif", "one-frame", good[:96])
    put("vdif", "highest-rate", vdif(2, 1, 4, 64, 0, 3 << 24 | 0xFFFFFF))
    put("vdif", "longest-frame", struct.pack("<8I", 1, 28 << 24, 0xFFFFFF, 4 << 26, 0, 0, 0, 0) + noise(64))


def cards(pairs, end="END"):
    return "".join(f"{key:<8}= {value}"[:80].ljust(80) for key, value in pairs).encode() + end.ljust(80).encode()


def make_guppi():
    pairs = [("TELESCOP", "'GBT'"), ("SRC_NAME", "'X'"), ("OBSFREQ", "1500.0"), ("OBSBW", "4.0"), ("CHAN_BW", "2.0"),
             ("TBIN", "5e-07"), ("OBSNCHAN", "4"), ("NANTS", "2"), ("NPOL", "4"), ("NBITS", "8"), ("OVERLAP", "16"),
             ("BLOCSIZE", "1024"), ("PKTSIZE", "16"), ("PKTIDX", "0"), ("STT_IMJD", "58132"), ("STT_SMJD", "1"),
             ("STT_OFFS", "0.25"), ("DIRECTIO", "1"), ("PIPERBLK", "48")]

    def block(index, change=None):
        out = [(k, change[1]) if change and k == change[0] else (k, str(48 * index) if k == "PKTIDX" else v) for k, v in pairs]
        head = cards(out)
        return head.ljust((len(head) + 511) // 512 * 512, b"\0") + noise(1024, index + 1)

    put("guppi", "good", block(0) + block(1))
    for key, _ in pairs[2:]:
        for i, value in enumerate(("-1", "9223372036854775807")):
            put("guppi", f"{key.lower()}-{i}", block(0, (key, value))[:1700])
            if key == "PKTIDX":
                put("guppi", f"{key.lower()}-{i}-second", block(0) + block(1, (key, value)))
    put("guppi", "no-end", block(0)[:1280])
    put("guppi", "endless", (b"COMMENT".ljust(80)) * 40)
    put("guppi", "empty", b"")
    put("guppi", "noise", noise(500))


def make_mark5b():
    def frame(number, fraction=0):  # of MJD 58849, five in a second
        return struct.pack("<IIII", 0xABADDEED, number, 0x84900010, fraction << 16) + noise(10, number + 1) * 1000

    good = frame(3) + frame(4, 0x8000)
    binary("mark5b", good, [(4, "<I", (5, 0x7FFF)), (8, "<I", (0xFFFFFFFF, 0x99986400)), (10016 + 8, "<I", (0x00000000,)),
                            (10016 + 12, "<I", (0xFFFFFFFF, 0x12340000))])


def make_lwa():
    sync = b"\xDE\xC0\xDE\x5C"
    tag = 1719509547 * 196000000

    def tbx(time, chan0, n_stand=2, n_chan=3):
        return (sync + bytes([8]) + b"\0\0\1" + struct.pack(">I", 0) + struct.pack(">I", chan0) + struct.pack(">HHq", n_stand, n_chan, tag + 7840 * time)
                + noise(2 * n_stand * n_chan, time + chan0))

    good = b"".join(tbx(t, c) for t in range(6) for c in (1000, 1003))
    binary("tbf", good, [(12, ">I", WORDS), (16, ">H", (0, 1, 255, 65535)), (18, ">H", (0, 1, 65535)),
                         (20, ">q", (0, -1, 2**62, -2**63)), (2 * 40 + 20, ">q", (0, -1, 2**62, -2**63)), (4, "B", (0, 1, 7, 255))])
    put("tbf", "only-damage", sync * 600)

    def tbn(time, stand):
        return sync + b"\0\0\0\1" + struct.pack(">IHHq", 0x10000000, stand, 20, tag + time * 512 * 1960) + noise(1024, time + stand)

    good = b"".join(tbn(t, 1) for t in range(2))
    binary("tbn", good, [(8, ">I", (0, 0xFFFFFFFF)), (12, ">H", (0, 0x8001, 4096)), (16, ">q", (0, -1, 2**62, -2**63)),
                         (1048 + 16, ">q", (0, tag + 1, tag, 2**63 - 1))])

    def drx(time, pol):
        return (sync + bytes([pol << 7 | 1 << 3 | 4]) + b"\0\0\1" + struct.pack(">IHHqII", 0, 10, 0, tag + time * 40960, 0x40000000, 0)
                + noise(4096, time + pol))

    good = drx(0, 0) + drx(0, 1)
    binary("drx", drx(0, 0), [(4, "B", (0, 255)), (12, ">H", (0, 65535)), (14, ">H", (65535,)), (16, ">q", (-1, 2**62))])
    put("drx", "good-two", good)

    def chips(time, board):
        return struct.pack(">BBBBBBHQ", board, 0, 2, 1, 0, 2, 1000, 1000 + time) + noise(64, time + board)

    good = b"".join(chips(t, b) for t in range(6) for b in (1, 2))
    binary("chips", good, [(0, "B", (0, 3, 255)), (2, "B", (0, 1, 255)), (5, "B", (0, 255)), (6, ">H", (0, 65535)),
                           (8, ">Q", (0, 2**63, 2**64 - 1)), (80 * 4 + 8, ">Q", (0, 2**63, 2**64 - 1))])

    def best2(heap, chan):
        return struct.pack(">Q", heap << 26 | chan << 16) + noise(4096, heap + chan)

    good = best2(5, 2) + best2(5, 513)[:300]
    binary("best2", best2(5, 2), [(0, ">Q", (0, 2**63, 2**64 - 1))])
    put("best2", "far", best2(5, 2) + best2(2**37, 2))
    put("best2", "cut", good)


def make_mwa():
    head = ("HDR_SIZE 4096\nPOPULATED 1\nOBS_ID 1342177280\nSUBOBS_ID 1342177288\nUTC_START 2022-07-18-11:01:02\nOBS_OFFSET 8\n"
            "NBIT 8\nNPOL 2\nNTIMESAMPLES 64\nNINPUTS 2\nCOARSE_CHANNEL 109\nSECS_PER_SUBOBS 1\nSAMPLE_RATE 128\nTRANSFER_SIZE 768\n")
    good = head.encode().ljust(4096, b"\0") + noise(768)
    headers("mwax", good, ("HDR_SIZE", "SUBOBS_ID", "NBIT", "NTIMESAMPLES", "NINPUTS", "COARSE_CHANNEL", "SECS_PER_SUBOBS",
                           "SAMPLE_RATE", "TRANSFER_SIZE"))
    put("mwax", "two", good + good.replace(b"1342177288", b"1342177289"))
    put("mwax", "back", good.replace(b"1342177288", b"1342177289") + good)
    mapped = (head.replace("NTIMESAMPLES 64", "NTIMESAMPLES 2048").replace("SAMPLE_RATE 128", "SAMPLE_RATE 2048").replace("TRANSFER_SIZE 768\n", "")
              + "MWAX_SUB_VER 2\nIDX_PACKET_MAP 8+2\nIDX_DELAY_TABLE 0+8\nIDX_MARGIN_DATA 16+99\n")
    blocks = struct.pack("<HhHh", 6, -3, 7, 2047).ljust(8192, b"\x80") + noise(8192)
    put("mwax", "good-map", mapped.encode().ljust(4096, b"\0") + blocks)
    for i, (old, new) in enumerate((("8+2", "8190+3"), ("8+2", "-1+2"), ("8+2", "0+200860892"), ("8+2", "18446744073709551615+2"), ("8+2", "+"), ("0+8", "8191+8"),
                                    ("0+8", "1+7"), ("16+99", "0+18446744073709551615"))):
        put("mwax", f"map-{i}", mapped.replace(old, new).encode().ljust(4096, b"\0") + blocks[:9000])
    put("mwa-vcs", "good", noise(128 * 4 * 3))
    put("mwa-vcs", "cut", noise(128 * 4 * 2 + 77))
    put("mwa-vcs", "empty", b"")
    put("mwa-vcs", "dada", good[:300])
    frames = b"".join(struct.pack("<H", (65500 + i) & 0xFFFF) + noise(32, i) for i in range(90))
    binary("mwa32t", frames, [(34 * 10, "<H", (0, 65535)), (34 * 80, "<H", (0,)), (0, "<H", (0, 65535))])
    put("mwa32t", "junk", frames[: 34 * 70] + b"junk" + frames[34 * 70 :])
    put("mwa32t", "jump", frames[: 34 * 70] + struct.pack("<H", 12345) + frames[34 * 70 + 2 :])
    put("mwa32t", "counts-only", b"".join(struct.pack("<17H", *[i] * 17) for i in range(90)))


def make_streams():
    head = ("HEADER DADA\nHDR_VERSION 1.0\nHDR_SIZE 4096\nTELESCOPE T\nINSTRUMENT apsyn\nSOURCE S\nUTC_START 2020-01-01-00:00:00\n"
            "PICOSECONDS 5\nOBS_OFFSET 0\nFILE_SIZE 512\nFREQ 150\nBW 1\nTSAMP 1\nNBIT 8\nNDIM 2\nNPOL 2\nNCHAN 2\nNANT 2\nORDER TFAP\n"
            "NSBLK 1\nENCODING TWOSCOMPLEMENT\nSCALE 1\nMISSING_NSAMP 8\nRESOLUTION 16\nTRAILER 0\nSITE_LAT -26\nSITE_LON 116\n"
            "SITE_ALT 300\nANT_FRAME ENU\nANT_000 a,1,2,3,0,0\nANT_001 b,4,5,6,0,1\nPHASE_RA 10\nPHASE_DEC -20\nHISTORY_1 a%20b\n")
    good = head.encode().ljust(4096, b"\0") + noise(512)
    headers("dada", good, ("HDR_SIZE", "UTC_START", "PICOSECONDS", "OBS_OFFSET", "FILE_SIZE", "FREQ", "BW", "TSAMP", "NBIT", "NDIM", "NPOL",
                           "NCHAN", "NANT", "ORDER", "NSBLK", "ENCODING", "SCALE", "MISSING_NSAMP", "RESOLUTION", "TRAILER", "ANT_001",
                           "PHASE_DEC", "HISTORY_1"))
    put("dada", "heaps", good.replace(b"ORDER TFAP\nNSBLK 1\n", b"ORDER FATP\nNSBLK 8\n", 1))
    put("dada", "pack5", good.replace(b"NBIT 8\n", b"NBIT 5\n").replace(b"TWOSCOMPLEMENT", b"PACK5X5       "))
    put("dada", "float", good.replace(b"NBIT 8\n", b"NBIT 32\n").replace(b"ENCODING TWOSCOMPLEMENT", b"ENCODING FLOAT")[:4096] + noise(1024))
    head = ("HEADER DADA\nHDR_VERSION 1.0\nHDR_SIZE 4096\nTELESCOPE T\nINSTRUMENT apsyn-vis\nSOURCE S\nUTC_START 2020-01-01-00:00:00\n"
            "PICOSECONDS 0\nFILE_SIZE 216\nFREQ 150\nBW 1\nTSAMP 1000000\nNBIT 32\nNCHAN 3\nNANT 2\nNBL 3\nORDER TBFP\nPRODUCTS XX,YY\n"
            "TRAILER 0\nSITE_LAT -26\nSITE_LON 116\nSITE_ALT 300\nANT_FRAME ENU\nANT_000 a,1,2,3,0,0\nANT_001 b,4,5,6,0,0\nPHASE_RA 10\n"
            "PHASE_DEC -20\n")
    good = head.encode().ljust(4096, b"\0") + noise(216)
    headers("visibility", good, ("HDR_SIZE", "FILE_SIZE", "FREQ", "BW", "TSAMP", "NBIT", "NCHAN", "NANT", "NBL", "ORDER", "PRODUCTS", "ANT_001"))
    head = ("HEADER DADA\nHDR_VERSION 1.0\nHDR_SIZE 4096\nINSTRUMENT apsyn-image\nTELESCOPE T\nSOURCE S\nUTC_START 2020-01-01-00:00:00\n"
            "PICOSECONDS 0\nOBS_OFFSET 0\nFILE_SIZE 384\nTRAILER 0\nFREQ 150\nBW 1\nTSAMP 40000\nNBIT 32\nNDIM 2\nNCHAN 2\nNX 3\nNY 2\n"
            "CELL 1.5\nPRODUCTS XX,XY\nORDER TDPFYX\nENCODING FLOAT\nENDIAN LITTLE\nRESOLUTION 192\nPHASE_RA 10\nPHASE_DEC -20\n")
    good = head.encode().ljust(4096, b"\0") + noise(384)
    headers("images", good, ("HDR_SIZE", "FILE_SIZE", "FREQ", "BW", "TSAMP", "NDIM", "NCHAN", "NX", "NY", "CELL", "PRODUCTS", "ORDER", "PHASE_DEC"))


def make_sigproc():
    def key(name, form=None, value=None):
        out = struct.pack("<i", len(name)) + name.encode()
        if form == "s":
            return out + struct.pack("<i", len(value)) + value.encode()
        return out + (struct.pack("<" + form, value) if form else b"")

    keys = [("source_name", "s", "B0329+54"), ("machine_id", "i", 0), ("telescope_id", "i", 6), ("src_raj", "d", 33259.37), ("src_dej", "d", 543443.6),
            ("data_type", "i", 1), ("fch1", "d", 1500.0), ("foff", "d", -1.0), ("nchans", "i", 8), ("nbits", "i", 8), ("tstart", "d", 58000.0),
            ("tsamp", "d", 1e-3), ("nifs", "i", 1)]

    def whole(change=None, n=64):
        return key("HEADER_START") + b"".join(key(k, f, change[1] if change and change[0] == k else v) for k, f, v in keys) + key("HEADER_END") + noise(n)

    put("sigproc", "good", whole())
    for name, values in (("nchans", (0, -1, 2**31 - 1)), ("nbits", (0, 1, 2, 3, 4, 16, 32, -8)), ("nifs", (0, -1, 2**31 - 1, 4)), ("data_type", (0, 2)),
                         ("tsamp", (0.0, -1.0, float("nan"), 1e300)), ("foff", (0.0, float("inf"))), ("fch1", (-1.0, float("nan"))),
                         ("tstart", (1e300, float("nan"))), ("source_name", ("", "x" * 5000)), ("src_raj", (1e300,))):
        for i, value in enumerate(values):
            put("sigproc", f"{name}-{i}", whole((name, value)))
    put("sigproc", "unknown-key", key("HEADER_START") + key("what_is_this", "i", 1) + noise(99))
    put("sigproc", "long-key", key("HEADER_START") + struct.pack("<i", 2**31 - 1) + noise(99))
    put("sigproc", "negative-key", key("HEADER_START") + struct.pack("<i", -5) + noise(99))
    put("sigproc", "big-endian", struct.pack(">i", 12) + b"HEADER_START")
    put("sigproc", "frequencies", key("HEADER_START") + key("FREQUENCY_START") + (key("fchannel", "d", 1400.0) * 3) + key("FREQUENCY_END") + key("HEADER_END"))
    put("sigproc", "empty", b"")


def hdu(pairs, data=b"", fill=b"\0"):
    head = cards(pairs)
    return head.ljust((len(head) + 2879) // 2880 * 2880, b" ") + data.ljust((len(data) + 2879) // 2880 * 2880, fill)


def fits_cases(target, build, pairs, changes):
    put(target, "good", build(pairs))
    for i, (key, value) in enumerate(changes):
        assert any(k == key for k, _ in pairs), (target, key)
        put(target, f"{key.lower()}-{i:02}", build([(k, value if k == key else v) for k, v in pairs]))
    put(target, "empty", b"")
    if target == "fits-image":
        put(target, "swapped", build(pairs[:1] + pairs[2:3] + pairs[1:2] + pairs[3:]))
    put(target, "no-end", build(pairs)[:2880].replace(b"END   ", b"COMMEN"))


def make_fits():
    image = [("SIMPLE", "T"), ("BITPIX", "-32"), ("NAXIS", "4"), ("NAXIS1", "4"), ("NAXIS2", "3"), ("NAXIS3", "1"), ("NAXIS4", "2"),
             ("CTYPE1", "'RA---SIN'"), ("CRPIX1", "3"), ("CRVAL1", "10"), ("CDELT1", "-0.01"), ("CTYPE2", "'DEC--SIN'"), ("CRPIX2", "2"),
             ("CRVAL2", "-20"), ("CDELT2", "0.01"), ("CTYPE3", "'FREQ'"), ("CRPIX3", "1"), ("CRVAL3", "1.5E8"), ("CDELT3", "1E6"), ("CTYPE4", "'STOKES'"),
             ("CRPIX4", "1"), ("CRVAL4", "1"), ("CDELT4", "1"), ("BUNIT", "'JY/BEAM'"), ("BMAJ", "0.05"), ("BMIN", "0.04"), ("BPA", "12"),
             ("DATE-OBS", "'2020-01-01T00:00:00'")]
    pixels = struct.pack(">24f", *range(24))
    fits_cases("fits-image", lambda p: hdu(p, pixels), image,
               [("NAXIS1", "9223372036854775807"), ("NAXIS1", "-1"), ("NAXIS1", "0"), ("NAXIS", "999"), ("NAXIS", "5"),
                ("BITPIX", "64"), ("CTYPE3", "'STOKES'"), ("CTYPE4", "'TIME'"), ("CRVAL1", "1E999"),
                ("CRVAL2", "91"), ("CDELT1", "0"), ("CDELT2", "-1E300"), ("CRVAL4", "77"), ("BMAJ", "-1"), ("BMAJ", "NaN"), ("DATE-OBS", "'yesterday'"),
                ("BUNIT", "'never closed")])
    screen = [("SIMPLE", "T"), ("BITPIX", "-64"), ("NAXIS", "3"), ("NAXIS1", "3"), ("NAXIS2", "2"), ("NAXIS3", "2"), ("CTYPE1", "'EAST'"), ("CUNIT1", "'m'"),
              ("CRPIX1", "1"), ("CRVAL1", "-1000"), ("CDELT1", "1000"), ("CTYPE2", "'NORTH'"), ("CUNIT2", "'m'"), ("CRPIX2", "1"), ("CRVAL2", "0"),
              ("CDELT2", "1000"), ("CTYPE3", "'TIME'"), ("CUNIT3", "'s'"), ("CRPIX3", "1"), ("CRVAL3", "5000000000"), ("CDELT3", "10"), ("BUNIT", "'TECU'"),
              ("HEIGHT", "300000")]
    fits_cases("ionosphere", lambda p: hdu(p, struct.pack(">12d", *range(12))), screen,
               [("NAXIS1", "0"), ("NAXIS1", "99999999999"), ("NAXIS3", "1"), ("CDELT1", "0"), ("CRVAL3", "NaN"), ("BUNIT", "'K'"), ("HEIGHT", "0")])
    aperture = screen[:5] + [("NAXIS3", "2")] + screen[6:16] + [("CTYPE3", "'COMPLEX'")]
    fits_cases("aperture", lambda p: hdu(p, struct.pack(">12d", *range(12))), aperture,
               [("NAXIS1", "0"), ("NAXIS1", "99999999999"), ("NAXIS3", "1"), ("CDELT1", "0"), ("CDELT2", "-1"), ("CRVAL1", "NaN"), ("CTYPE1", "'RA'"), ("CTYPE3", "'TIME'")])
    primary = [("SIMPLE", "T"), ("BITPIX", "8"), ("NAXIS", "0"), ("EXTEND", "T"), ("GPSTIME", "1196175296"), ("RA", "50.8"), ("DEC", "-40.5"),
               ("CHANNELS", "'120'"), ("FINECHAN", "640"), ("NCHANS", "2"), ("INTTIME", "0.5")]
    columns = [("Input", "I"), ("Antenna", "I"), ("TileName", "8A"), ("Pol", "A"), ("Flag", "I"), ("Length", "14A"), ("North", "E"), ("East", "E"),
               ("Height", "E"), ("Delays", "16I"), ("VCSOrder", "I")]
    rows = b""
    for row in range(4):
        rows += struct.pack(">hh8s1sh14sfff16hh", row, row // 2, b"Tile%03d " % (row // 2), b"YX"[row % 2 : row % 2 + 1], 0, b"EL_-12.5", 10 * (row // 2), 5, 377,
                            *[0] * 16, row)
    table = [("XTENSION", "'BINTABLE'"), ("BITPIX", "8"), ("NAXIS", "2"), ("NAXIS1", str(len(rows) // 4)), ("NAXIS2", "4"), ("PCOUNT", "0"), ("GCOUNT", "1"),
             ("TFIELDS", str(len(columns))), ("EXTNAME", "'TILEDATA'")]
    for i, (name, form) in enumerate(columns):
        table += [(f"TTYPE{i + 1}", f"'{name}'"), (f"TFORM{i + 1}", f"'{form}'")]
    fits_cases("metafits", lambda p: hdu(primary) + hdu(p, rows), table,
               [("NAXIS1", "0"), ("NAXIS1", "999"), ("NAXIS2", "0"), ("NAXIS2", "99999999"), ("TFIELDS", "999"), ("PCOUNT", "-1"),
                ("TFORM3", "'9999999A'"), ("TFORM7", "'PE(3)'"), ("TTYPE2", "'Other'")])
    for i, (key, value) in enumerate((("CHANNELS", "'120,'"), ("NCHANS", "1E9"), ("FINECHAN", "NaN"), ("INTTIME", "-1"))):
        put("metafits", f"observation-{i}", hdu([(k, value if k == key else v) for k, v in primary]) + hdu(table, rows))


def make_mwa_files():
    """Files of MWAX: two tiles, two fine channels; the target has their metafits."""
    times = [("TIME", "1512140080"), ("MILLITIM", "0")]
    primary = [("SIMPLE", "T"), ("BITPIX", "8"), ("NAXIS", "0"), ("EXTEND", "T"), ("CORR_VER", "2"), ("OBSID", "1196175296"), ("INTTIME", "0.5"),
               ("FINECHAN", "640"), ("NINPUTS", "4")] + times

    def image(n_columns, values):
        cards = [("XTENSION", "'IMAGE   '"), ("BITPIX", "-32"), ("NAXIS", "2"), ("NAXIS1", str(n_columns)), ("NAXIS2", "3"), ("PCOUNT", "0"), ("GCOUNT", "1")]
        return cards + times, struct.pack(f">{len(values)}f", *values)

    weights = hdu(*image(4, [1] * 12))
    visibilities, data = image(16, range(48))
    fits_cases("mwa-fits", lambda p: hdu(primary) + hdu(p, data) + weights, visibilities,
               [("NAXIS1", "0"), ("NAXIS1", "99999999"), ("NAXIS2", "9223372036854775807"), ("NAXIS", "3"), ("BITPIX", "-33"), ("BITPIX", "64"),
                ("TIME", "1E300"), ("MILLITIM", "-1"), ("PCOUNT", "-1")])
    for i, (key, value) in enumerate((("OBSID", "1"), ("FINECHAN", "NaN"), ("INTTIME", "'x'"), ("NINPUTS", "0"))):
        put("mwa-fits", f"primary-{i}", hdu([(k, value if k == key else v) for k, v in primary]) + hdu(visibilities, data) + weights)
    rows = [gzip.compress(data[64 * i : 64 * (i + 1)], mtime=0) for i in range(3)]
    heap = b"".join(rows)
    index = b"".join(struct.pack(">ii", len(row), sum(len(r) for r in rows[:i])) for i, row in enumerate(rows))
    packed = [("XTENSION", "'BINTABLE'"), ("BITPIX", "8"), ("NAXIS", "2"), ("NAXIS1", "8"), ("NAXIS2", "3"), ("PCOUNT", str(len(heap))), ("GCOUNT", "1"),
              ("TFIELDS", "1"), ("TTYPE1", "'COMPRESSED_DATA'"), ("TFORM1", f"'1PB({len(rows[0])})'"), ("ZIMAGE", "T"), ("ZBITPIX", "-32"), ("ZNAXIS", "2"),
              ("ZNAXIS1", "16"), ("ZNAXIS2", "3"), ("ZTILE1", "16"), ("ZTILE2", "1"), ("ZCMPTYPE", "'GZIP_1'")] + times
    put("mwa-fits", "good-packed", hdu(primary) + hdu(packed, index + heap) + weights)
    for i, (key, value) in enumerate((("ZTILE1", "0"), ("ZTILE2", "99999999"), ("ZCMPTYPE", "'RICE_1'"), ("ZCMPTYPE", "'HCOMPRESS_1'"), ("TFORM1", "'1QD'"),
                                      ("ZBITPIX", "8"), ("PCOUNT", "0"))):
        put("mwa-fits", f"packed-{i}", hdu(primary) + hdu([(k, value if k == key else v) for k, v in packed], index + heap) + weights)
    put("mwa-fits", "packed-heap", hdu(primary) + hdu(packed, struct.pack(">ii", 2**31 - 1, -5) * 3 + noise(len(heap))) + weights)


def make_uvfits():
    params = ("UU", "VV", "WW", "DATE", "DATE", "BASELINE")
    main = [("SIMPLE", "T"), ("BITPIX", "-32"), ("NAXIS", "6"), ("NAXIS1", "0"), ("NAXIS2", "3"), ("NAXIS3", "2"), ("NAXIS4", "2"), ("NAXIS5", "1"),
            ("NAXIS6", "1"), ("GROUPS", "T"), ("PCOUNT", "6"), ("GCOUNT", "2"), ("OBJECT", "'X'"), ("TELESCOP", "'T'"), ("DATE-OBS", "'2020-01-01'"),
            ("EPOCH", "2000.0"), ("CTYPE2", "'COMPLEX'"), ("CRVAL2", "1"), ("CRPIX2", "1"), ("CDELT2", "1"), ("CTYPE3", "'STOKES'"), ("CRVAL3", "-1"),
            ("CRPIX3", "1"), ("CDELT3", "-1"), ("CTYPE4", "'FREQ'"), ("CRVAL4", "1.5E8"), ("CRPIX4", "1"), ("CDELT4", "1E6"), ("CTYPE5", "'RA'"),
            ("CRVAL5", "10"), ("CRPIX5", "1"), ("CDELT5", "1"), ("CTYPE6", "'DEC'"), ("CRVAL6", "-20"), ("CRPIX6", "1"), ("CDELT6", "1")]
    for i, name in enumerate(params):
        main += [(f"PTYPE{i + 1}", f"'{name}'"), (f"PSCAL{i + 1}", "1"), (f"PZERO{i + 1}", "2458849.5" if i == 3 else "0")]
    group = struct.pack(">6f", 1e-7, 2e-7, 0, 0, 0.5, 258) + struct.pack(">12f", *[1.0] * 12)
    rows = b""
    for i in range(2):
        rows += struct.pack(">8s3dii", b"ANT%d" % i, 100.0 * i, 50, 0, i + 1, 0) + struct.pack(">f", 0) + b"R" + struct.pack(">f", 0) + b"L" + struct.pack(">f", 0)
    columns = [("ANNAME", "8A"), ("STABXYZ", "3D"), ("NOSTA", "J"), ("MNTSTA", "J"), ("STAXOF", "E"), ("POLTYA", "1A"), ("POLAA", "E"), ("POLTYB", "1A"), ("POLAB", "E")]
    table = [("XTENSION", "'BINTABLE'"), ("BITPIX", "8"), ("NAXIS", "2"), ("NAXIS1", str(len(rows) // 2)), ("NAXIS2", "2"), ("PCOUNT", "0"), ("GCOUNT", "1"),
             ("TFIELDS", str(len(columns))), ("EXTNAME", "'AIPS AN'"), ("EXTVER", "1"), ("ARRAYX", "-2.5E6"), ("ARRAYY", "5.0E6"), ("ARRAYZ", "-2.8E6"),
             ("FREQ", "1.5E8"), ("RDATE", "'2020-01-01'"), ("ARRNAM", "'T'"), ("TIMSYS", "'UTC'"), ("XYZHAND", "'RIGHT'")]
    for i, (name, form) in enumerate(columns):
        table += [(f"TTYPE{i + 1}", f"'{name}'"), (f"TFORM{i + 1}", f"'{form}'")]
    fits_cases("uvfits", lambda p: hdu(p, group * 2) + hdu(table, rows), main,
               [("PCOUNT", "99999"), ("GCOUNT", "9223372036854775807"), ("NAXIS2", "1"), ("NAXIS4", "99999999"), ("PSCAL1", "NaN")])
    put("uvfits", "no-antennas", hdu(main, group * 2))
    for i, (key, value) in enumerate((("NAXIS2", "0"), ("TFORM2", "'2D'"))):
        put("uvfits", f"an-{i}", hdu(main, group * 2) + hdu([(k, value if k == key else v) for k, v in table], rows))


    make_fits_idi()


def make_fits_idi():
    def table(name, columns, rows, more=()):
        pairs = [("XTENSION", "'BINTABLE'"), ("BITPIX", "8"), ("NAXIS", "2"), ("NAXIS1", str(len(rows[0]))), ("NAXIS2", str(len(rows))), ("PCOUNT", "0"),
                 ("GCOUNT", "1"), ("TFIELDS", str(len(columns))), ("EXTNAME", f"'{name}'")]
        for i, (column, form) in enumerate(columns):
            pairs += [(f"TTYPE{i + 1}", f"'{column}'"), (f"TFORM{i + 1}", f"'{form}'")]
        return pairs + list(more), b"".join(rows)

    primary = [("SIMPLE", "T"), ("BITPIX", "8"), ("NAXIS", "0"), ("EXTEND", "T"), ("GROUPS", "T"), ("GCOUNT", "0"), ("PCOUNT", "0"), ("TELESCOP", "'T'")]
    stations = table("ARRAY_GEOMETRY", [("ANNAME", "8A"), ("STABXYZ", "3D"), ("NOSTA", "J")],
                     [struct.pack(">8s3di", b"ANT%d" % i, 100.0 * i, 50, 0, i + 1) for i in range(2)],
                     [("ARRAYX", "-2.5E6"), ("ARRAYY", "5.0E6"), ("ARRAYZ", "-2.8E6"), ("TIMSYS", "'UTC'")])
    setups = table("FREQUENCY", [("FREQID", "J"), ("BANDFREQ", "D"), ("CH_WIDTH", "E"), ("SIDEBAND", "J")], [struct.pack(">idfi", 1, 0, 1e6, 1)])
    sources = table("SOURCE", [("SOURCE_ID", "J"), ("SOURCE", "16A"), ("RAEPO", "D"), ("DECEPO", "D"), ("EQUINOX", "8A")],
                    [struct.pack(">i16sdd8s", 1, b"X", 10, -20, b"J2000")])
    axes = []
    for i, (name, length, value, step) in enumerate((("COMPLEX", 2, 1, 1), ("STOKES", 2, -1, -1), ("FREQ", 2, 1.5e8, 1e6), ("BAND", 1, 1, 1))):
        axes += [(f"MAXIS{i + 1}", str(length)), (f"CTYPE{i + 1}", f"'{name}'"), (f"CRVAL{i + 1}", f"{value:.1f}"), (f"CDELT{i + 1}", f"{step:.1f}"),
                 (f"CRPIX{i + 1}", "1")]
    columns = [("UU", "E"), ("VV", "E"), ("WW", "E"), ("DATE", "D"), ("TIME", "D"), ("BASELINE", "J"), ("SOURCE_ID", "J"), ("FREQID", "J"), ("INTTIM", "E"),
               ("WEIGHT", "2E"), ("FLUX", "8E")]
    rows = [struct.pack(">3f2d3if10f", 1e-7, 2e-7, 0, 2458849.5, 0.5 + i, 258, 1, 1, 2, *[1.0] * 10) for i in range(2)]
    data, bytes_of_rows = table("UV_DATA", columns, rows, [("TMATX11", "T"), ("MAXIS", "4")] + axes)
    before = hdu(primary) + hdu(*stations) + hdu(*setups) + hdu(*sources)
    put("uvfits", "good-idi", before + hdu(data, bytes_of_rows))
    for i, (key, value) in enumerate((("NAXIS1", "4"), ("NAXIS2", "9223372036854775807"), ("TFORM11", "'99999999E'"), ("TFORM1", "'PE(9)'"), ("MAXIS", "-1"),
                                      ("MAXIS3", "99999999"), ("TMATX11", "F"), ("TFORM6", "'1X'"), ("CRVAL2", "77"), ("TFIELDS", "0"))):
        assert any(k == key for k, _ in data), key
        put("uvfits", f"idi-{i}", before + hdu([(k, value if k == key else v) for k, v in data], bytes_of_rows))
    columns = [("SOURCE_ID", "J"), ("ARRAY", "J"), ("ANTS", "2J"), ("FREQID", "J"), ("TIMERANG", "2E"), ("BANDS", "J"), ("CHANS", "2J"), ("PFLAGS", "4X")]
    flags, bytes_of_flags = table("FLAG", columns, [struct.pack(">5i2f3iB", 1, 0, 2, 0, -1, 0.4, 0.6, 1, 2, 0, 0xA0)] * 2, [("RDATE", "'2020-01-01'")])
    before += hdu(data, bytes_of_rows)
    put("uvfits", "good-flags", before + hdu(flags, bytes_of_flags))
    for i, (key, value) in enumerate((("NAXIS2", "9223372036854775807"), ("NAXIS2", "0"), ("TFORM3", "'1J'"), ("TFORM5", "'2J'"), ("TFORM6", "'4A'"), ("TFORM8", "'4A'"),
                                      ("RDATE", "'32/13/99'"), ("RDATE", "''"), ("TTYPE5", "'TIME'"))):
        assert any(k == key for k, _ in flags), key
        put("uvfits", f"flags-{i}", before + hdu([(k, value if k == key else v) for k, v in flags], bytes_of_flags))
    for i, wild in enumerate((struct.pack(">5i2f3iB", 1, 0, -2, -7, -1, float("nan"), 1e30, 1, 2, 0, 0xA0),
                              struct.pack(">5i2f3iB", 2**31 - 1, -1, 2, 1, 9, 1, -1, 1, 2**31 - 1, -2**31, 0xFF))):
        put("uvfits", f"flag-row-{i}", before + hdu(flags, wild * 2))


def make_psrfits():
    n_chan, n_pol, n_block = 4, 2, 8
    row = struct.pack(">2d", 0.5, 0.004) + struct.pack(">4f", 100, 99, 98, 97) + struct.pack(">4f", 1, 1, 0, 1)
    row += struct.pack(">16f", *[3.0] * 8, *[0.5] * 8) + noise(n_chan * n_pol * n_block // 2)
    rows = row + struct.pack(">2d", 0.5, 0.036) + row[16:]
    columns = [("TSUBINT", "1D"), ("OFFS_SUB", "1D"), ("DAT_FREQ", "4E"), ("DAT_WTS", "4E"), ("DAT_OFFS", "8E"), ("DAT_SCL", "8E"), ("DATA", "32B")]
    primary = [("SIMPLE", "T"), ("BITPIX", "8"), ("NAXIS", "0"), ("EXTEND", "T"), ("FITSTYPE", "'PSRFITS'"), ("OBS_MODE", "'SEARCH'"), ("TELESCOP", "'Parkes'"),
               ("ANT_X", "-4554231.5"), ("ANT_Y", "2816759.1"), ("ANT_Z", "-3454036.3"), ("SRC_NAME", "'X'"), ("RA", "'10:00:00'"), ("DEC", "'-20:00:00'"),
               ("OBSFREQ", "98.5"), ("OBSBW", "-4"), ("OBSNCHAN", "4"), ("STT_IMJD", "59000"), ("STT_SMJD", "3600"), ("STT_OFFS", "0.25")]
    table = [("XTENSION", "'BINTABLE'"), ("BITPIX", "8"), ("NAXIS", "2"), ("NAXIS1", str(len(row))), ("NAXIS2", "2"), ("PCOUNT", "0"), ("GCOUNT", "1"),
             ("TFIELDS", str(len(columns))), ("EXTNAME", "'SUBINT'"), ("NBITS", "4"), ("NPOL", "2"), ("POL_TYPE", "'AABB'"), ("NCHAN", "4"), ("NSBLK", "8"),
             ("TBIN", "0.001"), ("ZERO_OFF", "7.5"), ("SIGNINT", "0"), ("NSUBOFFS", "0"), ("CHAN_BW", "-1")]
    for i, (name, form) in enumerate(columns):
        table += [(f"TTYPE{i + 1}", f"'{name}'"), (f"TFORM{i + 1}", f"'{form}'")]
    before = hdu(primary)
    fits_cases("psrfits", lambda t: before + hdu(t, rows), table,
               [("NBITS", "3"), ("NBITS", "1"), ("NBITS", "16"), ("NPOL", "0"), ("NPOL", "4"), ("NCHAN", "16777216"), ("NSBLK", "999999999"), ("TBIN", "0"),
                ("TBIN", "NaN"), ("NAXIS2", "0"), ("NAXIS2", "9223372036854775807"), ("NSUBOFFS", "1E300"), ("TFORM7", "'32X'"), ("TFORM2", "'2D'"),
                ("TFORM5", "'PE(9)'"), ("TTYPE7", "'DATE'"), ("TTYPE3", "'FREQ'")])
    for i, (key, value) in enumerate((("OBS_MODE", "'PSR'"), ("FITSTYPE", "'X'"), ("STT_IMJD", "-1"), ("STT_SMJD", "1E300"), ("ANT_X", "NaN"), ("OBSFREQ", "0"))):
        put("psrfits", f"primary-{i}", hdu([(k, value if k == key else v) for k, v in primary]) + hdu(table, rows))
    for i, values in enumerate(((0.004, 1e300), (0.004, float("nan")), (0.004, 0.001), (0.004, 1e4), (1e300, 2e300))):
        put("psrfits", f"offset-{i}", before + hdu(table, struct.pack(">2d", 0.5, values[0]) + row[16:] + struct.pack(">2d", 0.5, values[1]) + row[16:]))
    put("psrfits", "frequencies", before + hdu(table, row[:16] + struct.pack(">4f", 100, 99, float("nan"), 97) + row[32:] + row))


def make_texts():
    text("par", "PSRJ J0835-4510\nRAJ 08:35:20.6 1 0.1\nDECJ -45:10:34.8\nF0 11.2 1\nF1 -1.56D-11\nF2 1e-21\nPEPOCH 51559.319\nPOSEPOCH 51544\nDM 67.99\n"
         "DM1 0.1\nPMRA -50\nPMDEC 30\nPX 3.5\nTZRMJD 55000.5\nTZRSITE 7\nTZRFRQ 1400\nUNITS TDB\nEPHEM DE405\n# end\n",
         [("F0 11.2", "F0 0"), ("F0 11.2", "F0 1e999"), ("F0 11.2", "F0 nan"), ("F0 11.2", "P0 -1"), ("08:35:20.6", "08:35:20:6"), ("08:35:20.6", "::"),
          ("-45:10", "-95:10"), ("51559.319", "51559.319.1"), ("51559.319", "1e9"), ("51559.319", "."), ("F1 -1.56D-11", "F1 D"), ("UNITS TDB", "UNITS TCB"),
          ("PX 3.5", "BINARY DD"), ("PX 3.5", "GLEP_1 1"), ("DM 67.99", "DM " + "9" * 400), ("TZRMJD 55000.5", "TZRMJD x")])
    text("sky-model", "Format = Name, Type, Patch, Ra, Dec, I, Q, U, V, SpectralIndex='[0.7]', LogarithmicSI='true', ReferenceFrequency='1.5e8', "
         "MajorAxis, MinorAxis, Orientation\n , , p1, 01:00:00, -20.00.00\ns1, POINT, p1, 01:02:03.4, -20.03.04.5, 1.5, 0, 0, 0, [-0.7, 0.1], true, 1.4e8\n"
         "# comment\ng1, GAUSSIAN, p1, 10h, -5d, 3, , , , [], false, , 60, 30, 45\n",
         [("Format", "format"), ("Name, ", ""), ("Name, Type", "Name, Name"), ("[0.7]", "[0.7"), ("'true'", "'true"), ("POINT", "SHAPELET"), ("01:02:03.4", "25:61:99"),
          ("-20.03.04.5", "-91.0.0"), ("1.5, 0", "nan, 0"), ("1.5, 0", "1e999, 0"), ("[-0.7, 0.1]", "[[[[[["), ("[-0.7, 0.1]", "[" + "1," * 3000 + "1]"),
          ("60, 30, 45", "-60, 30, x"), ("10h", ""), ("1.4e8", "-1"), ("\ng1", "\n" + "," * 5000 + "g1")])
    text("aterm-config", "# a parset\naterms = [ tec, beam ]\ntec.type = tec\ntec.images = [ /dev/null ]\ntec.window = hanning\ntec.update_interval = 10\n"
         "beam.type = telescope\nbeam.frequency_interpolation = true\n",
         [("[ tec, beam ]", "[ tec, beam"), ("[ tec, beam ]", "tec"), ("[ tec, beam ]", "[ ]"), ("[ tec, beam ]", "[ tec, tec ]"), ("tec.type = tec", "tec.type"),
          ("tec.type = tec", "tec.type = = tec"), ("[ /dev/null ]", "[ [ [ ["), ("[ /dev/null ]", "[ " + "a " * 5000), ("tec.window", ".window"), ("tec.window", "tec."),
          ("aterms", "other"), ("= 10", "= 1e999"), ("true", "perhaps")])
    text("antennas", "# site -26.7 116.67 377\nname,east_m,north_m,up_m\na,1,2,3\nb,4,5,6\n",
         [("-26.7", "-91"), ("116.67", "x"), ("377", ""), ("name,", ""), ("up_m", "north_m"), ("up_m", "up_km"), ("1,2,3", "1,2"), ("1,2,3", "1,2,3,4"),
          ("1,2,3", "nan,2,3"), ("1,2,3", "1e999,2,3"), ("b,4", "a,4"), ("b,4", ",4"), ("b,4", "b b,4"), ("east_m,north_m,up_m", "x,y,z")])
    text("beams", "id,ra,dec\n1,10h,-20deg\n2,11:00:00,-20d30m\n",
         [("id,", ""), ("ra,dec", "az,el"), ("ra,dec", "l,m"), ("ra,dec", "ra,el"), ("2,", "1,"), ("10h", "10"), ("10h", "nandeg"), ("-20deg", "-91deg"),
          ("10h", "1e999deg"), ("10h", ""), ("1,", "a b,"), ("-20d30m", "-20d99m")])
    text("gains", "antenna,pol,channel,gain_amplitude,phase_rad\na,0,0,1.0,0\nb,1,3,0.5,-3\n2,1,1,1,1\n",
         [("antenna,", ""), ("pol,channel", "channel,pol"), ("phase_rad", "phase_deg"), ("1.0", "0"), ("1.0", "nan"), ("1.0", "-1"), ("b,1,3", "b,2,3"),
          ("b,1,3", "b,1,4"), ("b,1,3", "z,1,3"), ("b,1,3", "b,-1,3"), ("2,1,1", "2,2,1"), ("a,0,0,1.0,0", "a,0,0"), ("1.0,0", "1e999,0")])
    text("regions", "#CRTFv0 CASA Region Text Format version 0\nglobal coord=J2000, color=blue\ncircle[[10h00m, -20.00.00], 2arcmin], linewidth=1\n"
         "-box[[2pix, 3pix], [9pix, 8pix]] range=[1chan, 2chan]\n+ rotbox[[9h59m50s, -20d00m], [10arcmin, 300arcsec], 30deg]\n"
         "annulus[[10:00:00, -20.01.00], [1arcmin, 3arcmin]]\nellipse[[12pix, 10pix], [4pix, 2pix], 1rad]\n"
         "poly[[1pix, 1pix], [9pix, 2pix], [5pix, 9.5pix]]\nann circle[[1, 2], 3]\nsymbol[[1pix, 2pix], .]\n",
         [("#CRTF", "#CRT"), ("J2000", "GALACTIC"), ("circle[[10h00m, -20.00.00], 2arcmin]", "circle[[10h00m, -20.00.00]"), ("2arcmin", "-2arcmin"),
          ("2arcmin", "1e999deg"), ("2arcmin", "nandeg"), ("2pix, 3pix", "1e300pix, -1e300pix"), ("2pix, 3pix", "2pix, 10h"), ("-box", "-"), ("-box", "shape"),
          ("[[2pix, 3pix], [9pix, 8pix]]", "[[22h00m, 20.00.00], [10h, -91.00.00]]"), ("-20d00m", "+89d59m59s"), ("30deg", "1e308deg"), ("30deg", "[30deg]"),
          ("[1arcmin, 3arcmin]", "[3arcmin, 1arcmin]"), ("4pix, 2pix", "4pix, 0pix"), ("[9pix, 2pix], [5pix, 9.5pix]", "[9pix, 2pix]"),
          ("[5pix, 9.5pix]", "[5pix, 9.5pix]" + ", [1pix, 1e9pix]" * 300), ("poly[[", "poly[[[[[["), ("poly[[", "poly" + "[" * 3000), ("]]\nann", "]\nann"),
          ("10:00:00, -20.01.00", "22:00:00, 20.01.00"), ("annulus[[", "annulus[,["), ("range=[1chan", "range==[[1chan")])
    for i, good in enumerate(("2020-01-01T00:00:00.123456789012", "-26d42m11s", "12h30m00.5s", "150.123456MHz", "-26.7,116.67,377", "8GB", "10:20:30 -40d50m59s")):
        put("quantities", f"good-{i}", good)
    for i, bad in enumerate(("2020-13-01T00:00:00", "9999999999-01-01T00:00:00", "2020-01-01T24:00:61", "2020-01-01T00:00:00." + "9" * 400, "1e999deg", "nan deg",
                             "--1deg", "1" * 400 + "deg", "12h60m", "12:61:00", "infMHz", "1e-999GHz", "99999999999999999999GB", "-8GB", "8ZB", ",,", "91,0,0",
                             "\xff\xfe", "deg", "1d1d1d", "+-1s", "0x10MHz")):
        put("quantities", f"bad-{i:02}", bad)


def make_solutions():
    ao = b"MWAOCAL\0" + struct.pack("<6I2d", 0, 0, 1, 2, 2, 4, 0, 0) + struct.pack("<32d", *range(1, 33))
    binary("ao", ao, [(at, "<I", (0, 1, 3, 0x7FFFFFFF, 0xFFFFFFFF)) for at in (8, 12, 16, 20, 24, 28)] +
           [(48, "<d", (float("nan"), float("inf"), 1e300))])
    primary = [("SIMPLE", "T"), ("BITPIX", 8), ("NAXIS", 0)]
    image = [("XTENSION", "'IMAGE   '"), ("BITPIX", -64), ("NAXIS", 4), ("NAXIS1", 8), ("NAXIS2", 2), ("NAXIS3", 2), ("NAXIS4", 1),
             ("PCOUNT", 0), ("GCOUNT", 1), ("EXTNAME", "'SOLUTIONS'")]
    table = [("XTENSION", "'BINTABLE'"), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", 8), ("NAXIS2", 2), ("PCOUNT", 0), ("GCOUNT", 1),
             ("TFIELDS", 1), ("TTYPE1", "'TileName'"), ("TFORM1", "'8A      '"), ("EXTNAME", "'TILES   '")]
    values = struct.pack(">32d", *range(1, 33))
    fits_cases("hyperdrive", lambda p: hdu(primary) + hdu(p, values) + hdu(table, b"Tile0011Tile0012"), image,
               [("BITPIX", 64), ("BITPIX", -32), ("NAXIS", 3), ("NAXIS1", 4), ("NAXIS1", 0), ("NAXIS2", 1 << 40), ("NAXIS4", 0),
                ("NAXIS4", 2), ("EXTNAME", "'OTHER   '")])
    for i, (key, value) in enumerate((("TFORM1", "'1D      '"), ("TFORM1", "'1PA(8)  '"), ("NAXIS2", 1), ("TTYPE1", "'Flag    '"))):
        changed = [(k, value if k == key else v) for k, v in table]
        put("hyperdrive", f"tiles-{i}", hdu(primary) + hdu(image, values) + hdu(changed, b"Tile0011Tile0012"))
    # The good one is what write_h5parm makes of two antennas, one time and one channel.
    with open(os.path.join(ROOT, "h5parm", "good"), "rb") as stored:
        good = stored.read()
    state = 1
    for i in range(24):
        changed = bytearray(good)
        for _ in range(1 + i % 3):
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            at = (state >> 4) % len(good)
            changed[at] = (0xFF, 0, changed[at] ^ 0x80, changed[at] + 1 & 0xFF)[i % 4]
        put("h5parm", f"bytes-{i:02}", bytes(changed))
    # Numbers of structure: each run of eight bytes 0xFF (an undefined address) becomes one.
    at = -1
    for i in range(8):
        at = good.find(b"\xff" * 8, at + 1)
        if at < 0:
            break
        put("h5parm", f"address-{i}", good[:at] + struct.pack("<Q", 96 * (i + 1)) + good[at + 8 :])
    put("h5parm", "empty", b"")
    put("h5parm", "magic", good[:8])
    put("h5parm", "hole", good[: len(good) // 2] + good[len(good) // 2 + 64 :])
    put("h5parm", "twice", good + good)


def make_recognise():
    put("recognise", "good", vdif(2, 1, 2))
    for i, bad in enumerate((b"", b"\x1f", b"\xDE\xC0\xDE\x5C", b"SIMPLE  =", b"HDR_SIZE", b"SUBOBS_ID 1\nNTIMESAMPLES 2\nHDR_SIZE ", b"BLOCSIZE= ".ljust(80), b"\xed\xde\xad\xab",
                             struct.pack("<8I", *[0xFFFFFFFF] * 8), b" " * 400)):
        put("recognise", f"case-{i}", bad)


for make in (make_vdif, make_mark5b, make_guppi, make_lwa, make_mwa, make_streams, make_sigproc, make_fits, make_mwa_files, make_uvfits, make_psrfits, make_texts, make_solutions,
             make_recognise):
    make()
