#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/libcore/measures/barycentric_times.inc: what astropy makes of the barycentre, and the phases of a pulsar by
these times. Needs astropy 8: python3 -m venv v && v/bin/pip install astropy && v/bin/python tests/reference/barycentric_times.py

Rows of `kTimes` are {place in ITRF [m], right ascension and declination [deg], MJD of UTC, second of that day, UT1 - UTC
[s], polar motion x and y [rad], TDB - UTC [s], light travel time to the barycentre [s], the Sun's Shapiro delay [s]}: the
first is Time.tdb, the others are made in float64 of astropy's positions of the Earth and the Sun, by the built-in ephemeris
(ERFA's epv00), and of the telescope (EarthLocation.get_gcrs_posvel). Time.light_travel_time differs by up to 2.1 us: it takes
the vector from the Earth's centre to the telescope for an apparent direction, and takes aberration off it. Rows of `kPhases` are {second after the start,
phase, speed of Parkes towards the pulsar over that of light}, of the pulsar in `kPar`; phases are computed in 40 digits."""
import os
from decimal import Decimal, getcontext

import astropy.units as u
import numpy as np
from astropy.coordinates import EarthLocation, SkyCoord, get_body_barycentric, get_body_barycentric_posvel
from astropy.coordinates.builtin_frames.utils import get_polar_motion
from astropy.time import Time
from astropy.utils import iers

iers.conf.auto_download = False
getcontext().prec = 40
HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "libcore", "measures", "barycentric_times.inc")
SITES = {"Parkes": (-4554231.5, 2816759.1, -3454036.3), "Green Bank": (882589.289, -4924872.368, 3943729.418),
         "LOFAR": (3826577.462, 461022.624, 5064892.526), "GMRT": (1657059.36, 5797913.14, 2073026.71)}
SOURCES = {"J0534+2200": ("05:34:31.97232", "+22:00:52.06"), "J0437-4715": ("04:37:15.8961737", "-47:15:09.11071"),
           "J0332+5434": ("03:32:59.4096", "+54:34:43.329"), "ecliptic pole": ("18:00:00", "+66:33:38")}
EPOCHS = (("47892", 3600.5), ("51544", 43200.0), ("53005", 80000.25), ("55197", 12.75), ("57204", 0.0), ("59215", 65432.1), ("60676", 21600.125))
SUN_S = 1.3271244e20 / 299792458.0**3


def travel(place, ra, dec, time):
    """Light travel time to the barycentre and the Sun's delay, in seconds."""
    sky = SkyCoord(ra, dec, unit=(u.hourangle, u.deg), frame="icrs")
    at = EarthLocation.from_geocentric(*place, unit=u.m)
    earth = get_body_barycentric("earth", time, ephemeris="builtin")
    about = at.get_gcrs_posvel(time)[0]
    roemer = (earth + about).xyz.to_value(u.m) @ sky.cartesian.xyz.value / 299792458.0
    artefact = time.light_travel_time(sky, "barycentric", at, ephemeris="builtin").to_value(u.s) - roemer
    assert abs(artefact) < 2.2e-6, artefact
    observer = (earth + about).xyz.to_value(u.au)
    to_sun = get_body_barycentric("sun", time, ephemeris="builtin").xyz.to_value(u.au) - observer
    n = sky.cartesian.xyz.value
    shapiro = -2 * SUN_S * np.log(np.linalg.norm(to_sun) - to_sun @ n)
    return roemer, shapiro


def speed(place, ra, dec, time):
    sky = SkyCoord(ra, dec, unit=(u.hourangle, u.deg), frame="icrs")
    at = EarthLocation.from_geocentric(*place, unit=u.m)
    earth = get_body_barycentric_posvel("earth", time, ephemeris="builtin")[1]
    about = at.get_gcrs_posvel(time)[1]
    return (earth + about).xyz.to_value(u.m / u.s) @ sky.cartesian.xyz.value / 299792458.0


def tdb_minus_utc(time):
    """In seconds, from the two parts of the times: their difference in days has no room for nanoseconds."""
    tdb = time.tdb
    return ((tdb.jd1 - time.jd1) + (tdb.jd2 - time.jd2)) * 86400


with open(OUT, "w") as out:
    out.write("// SPDX-License-Identifier: GPL-3.0-or-later\n// Written by tests/reference/barycentric_times.py. clang-format off\n")
    out.write("constexpr Row kTimes[] = {\n")
    for place in SITES.values():
        for ra, dec in SOURCES.values():
            for day, second in EPOCHS:
                at = EarthLocation.from_geocentric(*place, unit=u.m)
                time = Time(2400000.5 + float(day), second / 86400, format="jd", scale="utc", location=at)
                xp, yp = get_polar_motion(time)
                roemer, shapiro = travel(place, ra, dec, time)
                sky = SkyCoord(ra, dec, unit=(u.hourangle, u.deg))
                out.write(f"    {{{{{place[0]!r}, {place[1]!r}, {place[2]!r}}}, {float(sky.ra.deg)!r}, {float(sky.dec.deg)!r}, {day}, {second!r}, "
                          f"{float(time.delta_ut1_utc)!r}, {float(xp)!r}, {float(yp)!r}, {tdb_minus_utc(time):.12f}, {roemer:.12f}, {shapiro:.15f}}},\n")
    out.write("};\n\n")

    # As fast as pulsars are, near the meridian for an hour, in which its apparent period drifts by 0.4 turns.
    par = {"PSR": "J0237-2000", "RAJ": "02:37:15.8961737", "DECJ": "-20:15:09.11071", "F0": "641.9282333345536244", "F1": "-4.33D-14",
           "PEPOCH": "54500.25", "DM": "2.64476", "UNITS": "TDB", "EPHEM": "DE405"}
    place, day, second = SITES["Parkes"], 59215, 36000.0
    out.write('constexpr const char* kPar =\n' + "\n".join(f'    "{key} {value}\\n"' for key, value in par.items()) + ";\n")
    at = EarthLocation.from_geocentric(*place, unit=u.m)
    start = Time(2400000.5 + day, second / 86400, format="jd", scale="utc", location=at)
    xp, yp = get_polar_motion(start)
    out.write(f"constexpr std::int64_t kDay = {day};\nconstexpr double kSecond = {second!r};\n")
    out.write(f"constexpr double kDut1_s = {float(start.delta_ut1_utc)!r}, kPoleX_rad = {float(xp)!r}, kPoleY_rad = {float(yp)!r};\n")
    out.write("constexpr PhaseRow kPhases[] = {\n")
    first = None
    for minute in range(0, 61, 2):
        time = Time(2400000.5 + day, (second + 60 * minute) / 86400, format="jd", scale="utc", location=at)
        roemer, shapiro = travel(place, par["RAJ"], par["DECJ"], time)
        epoch = Decimal(par["PEPOCH"])
        since = (Decimal(day) - epoch) * 86400 + Decimal(second + 60 * minute)
        since += Decimal(float(tdb_minus_utc(time))) + Decimal(float(roemer)) - Decimal(float(shapiro))
        turns = Decimal(par["F0"]) * since + Decimal(par["F1"].replace("D", "E")) * since * since / 2
        first = turns.to_integral_value(rounding="ROUND_FLOOR") if first is None else first
        out.write(f"    {{{60 * minute}, {float(turns - first)!r}, {float(speed(place, par['RAJ'], par['DECJ'], time))!r}}},\n")
    out.write("};\n")
