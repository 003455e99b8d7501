"""The logs of the Parallel Workloads Archive: their terms, and what to watch out for.

Sources: the headers of the logs, and the archive's pages,
https://www.cs.huji.ac.il/labs/parallel/workload/.
"""

from typing import NamedTuple

from bfenv.core.errors import UnknownNameError

CITE = (
    "D. G. Feitelson, D. Tsafrir, D. Krakov: Experience with using the Parallel Workloads "
    "Archive. J. Parallel Distrib. Comput. 74(10), 2014"
)
TERMS = "free for research; cite the archive and acknowledge the log's donor"
UC_TERMS = (
    "(c) 2000 The Regents of the University of California; education, research and non-profit "
    "use, the notice in the header stays in all copies, works based on it reference the data"
)


class Log(NamedTuple):
    """A log of the archive; None is what could not be established."""

    name: str
    folder: str  # in the archive; its index.html describes the log
    processors: int | None  # for information; a trace takes what the log's header says
    jobs: int | None  # job lines in the file
    period: str
    acknowledge: str | None  # None: see the log's page
    remarks: str  # what to watch out for
    sha256: str | None = None  # of the unpacked text; packed copies may differ
    terms: str = TERMS


DAS2 = "Hui Li, David Groep and Lex Wolters"
LLNL = "Moe Jette, LLNL"
INTEL = "Ohad Shai, Edi Shmueli and Nir Antebi, Intel; cite Shai, Shmueli, Feitelson, JSSPP 2013"
METACENTRUM = "Czech National Grid Infrastructure MetaCentrum, Dalibor Klusacek"
PARAGON = "Reagan Moore and Allen Downey, SDSC"
NETBATCH = "serial jobs, a very large file"
DAS2_REMARKS = "a research grid: low load; parts of a job on several clusters look like jobs"

CATALOGUE = (
    Log("NASA-iPSC-1993-3.1-cln", "l_nasa_ipsc", 128, 18_239, "Oct 1993 - Dec 1993",
        "Bill Nitzberg, NASA Ames", "no estimates; submit times are start times",
        "9d997a2c20a7f7b0b6d81638d756ce8b2c524c4f2e9ec78da36001743ca33d76"),
    Log("LANL-CM5-1994-4.1-cln", "l_lanl_cm5", 1024, None, "Oct 1994 - Sep 1996",
        "Curt Canada, LANL", "sizes are partitions of 32 and more; 201,387 jobs before cleaning"),
    Log("SDSC-Par-1995-3.1-cln", "l_sdsc_par", 400, None, "Jan 1995 - Dec 1995",
        PARAGON, "352 processors in batch; users may not be those of 1996; "
        "76,872 jobs before cleaning"),
    Log("SDSC-Par-1996-3.1-cln", "l_sdsc_par", 400, 32_135, "Dec 1995 - Dec 1996",
        PARAGON, "no estimates; 352 processors in batch; users may not be those of 1995",
        "fcb46fa6462b7ac460963025749f604f28b2e813101edd082a720842e80a7aa8"),
    Log("CTC-SP2-1995-2", "l_ctc_sp2", None, None, "from 1995",
        None, "an early log of CTC; not cleaned"),
    Log("CTC-SP2-1996-3.1-cln", "l_ctc_sp2", 338, 77_222, "Jun 1996 - May 1997",
        "Dan Dwyer and Steve Hotovy, CTC",
        "batch partition of 512 processors; 7,174 jobs run past their estimate",
        "8e33a9b597e1ddda2d2164347bac08c9444e1a2620a7947df52f0a1622ec4cde"),
    Log("LLNL-T3D-1996-2", "l_llnl_t3d", 256, 22_779, "Jun 1996 - Sep 1996",
        LLNL, "gang scheduled: jobs were swapped out and in"),
    Log("KTH-SP2-1996-2", "l_kth_sp2", 100, 28_489, "Sep 1996 - Aug 1997",
        "Lars Malinowsky, KTH", "not cleaned",
        "df76b94e5f670db52179688a98deec3e1887d10adb39f96c900b8e92abb386ab"),
    Log("KTH-SP2-1996-2.1-cln", "l_kth_sp2", 100, 28_476, "Sep 1996 - Aug 1997",
        "Lars Malinowsky, KTH", "219 jobs got another size than requested",
        "fba36494c4e4257f72182e8b629ebb0bcb054b3b82851ef957445bd627adcc87"),
    Log("SDSC-SP2-1998-4.2-cln", "l_sdsc_sp2", 128, 59_715, "Apr 1998 - Apr 2000",
        "Victor Hazlewood, SDSC",
        "5,671 jobs without a runtime; utilization 10 % lower in the first third",
        "2bb635f4b5793f52bd49ccb8fd913d95f9c5be6346925162cadcaf0117e28cf2", UC_TERMS),
    Log("LANL-O2K-1999-2", "l_lanl_o2k", 2048, None, "from 1999", None, "not cleaned"),
    Log("OSC-Clust-2000-3.1-cln", "l_osc", 178, None, "22 months from 2000",
        None, "cleaned of one user's 44,617 jobs"),
    Log("SDSC-BLUE-2000-4.2-cln", "l_sdsc_blue", 1152, 243_306, "Apr 2000 - Jan 2003",
        "Travis Earheart and Nancy Wilkins-Diehr, SDSC",
        "sizes are multiples of 8; 23,434 jobs run past their estimate; starts at installation",
        "13892839f430583231a14bb811fd50a31b5b529eb37faacdbbefb71e73390e3e"),
    Log("Sandia-Ross-2001-1.1-cln", "l_sandia_ross", 1524, None, "about 3 years from 2001",
        "Jon Stearley, Sandia", "the machine shrank, so load is not comparable along the log"),
    Log("HPC2N-2002-2.2-cln", "l_hpc2n", 240, 202_871, "Jul 2002 - Jan 2006",
        "Ake Sandgren, HPC2N", "120 dual nodes; estimates up to 100 days; many equal submit times",
        "77b8993c73ae438385f6c0015708251f52dc316267b03ac19a406fbea2802afa"),
    Log("DAS2-fs0-2003-1", "l_das2", 144, 225_711, "Jan 2003 - Dec 2003", DAS2, DAS2_REMARKS),
    Log("DAS2-fs1-2003-1", "l_das2", 64, 40_315, "Jan 2003 - Dec 2003", DAS2, DAS2_REMARKS),
    Log("DAS2-fs2-2003-1", "l_das2", 64, 66_429, "Jan 2003 - Dec 2003", DAS2, DAS2_REMARKS),
    Log("DAS2-fs3-2003-1", "l_das2", 64, 66_737, "Jan 2003 - Dec 2003", DAS2, DAS2_REMARKS),
    Log("DAS2-fs4-2003-1", "l_das2", 64, 33_795, "Jan 2003 - Dec 2003", DAS2, DAS2_REMARKS),
    Log("SDSC-DS-2004-2.1-cln", "l_sdsc_ds", 1664, None, "from 2004",
        None, "96,089 jobs before cleaning"),
    Log("LPC-EGEE-2004-1.2-cln", "l_lpc", 140, None, "from 2004",
        "Emmanuel Medernach, LPC", "serial jobs of a grid"),
    Log("LCG-2005-1", "l_lcg", None, None, "from 2005", None, "serial jobs of a grid"),
    Log("SHARCNET-2005-2", "l_sharcnet", None, None, "from 2005", None, "several clusters"),
    Log("SHARCNET-Whale-2006-2", "l_sharcnet", None, None, "from 2006", None, "not cleaned"),
    Log("LLNL-uBGL-2006-2", "l_llnl_ubgl", 2048, 112_611, "Nov 2006 - Jun 2007",
        LLNL, "a machine on trial: most jobs failed"),
    Log("LLNL-Atlas-2006-2.1-cln", "l_llnl_atlas", 9216, 43_778, "Nov 2006 - Jun 2007",
        LLNL, "submit times are start times; estimates of 81 % of the jobs, one of 23 years",
        "8b3aaab739fa0bda8abaccc37c207d0b19d9d147b19e7f47a1641133a56fd07f"),
    Log("LLNL-Thunder-2007-1.1-cln", "l_llnl_thunder", 4008, 121_039, "Jan 2007 - Jun 2007",
        LLNL, "submit times are start times, 1,190 have none; estimates of 32 % of the jobs",
        "aad5a3120a6adf0342d46fb4830e022121cdfbd3de9ecdd9cf10145b8864b6a5"),
    Log("CIEMAT-Euler-2008-1", "l_ciemat_euler", None, None, "from 2008", None, "not cleaned"),
    Log("ANL-Intrepid-2009-1", "l_anl_int", 163_840, 68_936, "Jan 2009 - Sep 2009",
        "Susan Coghlan, Narayan Desai, ANL; cite Tang, Lan, Desai, Buettner, Yu, IPDPS 2011",
        "sizes are partitions of 256 and more, outside of development of 2,048"),
    Log("METACENTRUM-2009-2", "l_metacentrum", 806, 103_656, "Jan 2009 - May 2009",
        METACENTRUM, "no estimates; 14 unlike clusters; some copies lack the header"),
    Log("PIK-IPLEX-2009-1", "l_pik_iplex", 2560, 742_964, "Apr 2009 - Jul 2012",
        "Ciaron Linstead, PIK", "starts at installation; jobs fit in one half of the machine"),
    Log("RICC-2010-2", "l_ricc", 8192, 447_794, "May 2010 - Sep 2010",
        "Motoyoshi Kurokawa, RIKEN", "memory is allocated by cores: jobs hold more than they use"),
    Log("CEA-Curie-2011-2.1-cln", "l_cea_curie", 93_312, 312_826, "from 2011",
        None, "773,138 jobs before cleaning"),
    Log("Intel-NetbatchA-2012-1", "l_intel_netbatch", None, None, "from 2012", INTEL, NETBATCH),
    Log("Intel-NetbatchB-2012-1", "l_intel_netbatch", None, None, "from 2012", INTEL, NETBATCH),
    Log("Intel-NetbatchC-2012-1", "l_intel_netbatch", None, None, "from 2012", INTEL, NETBATCH),
    Log("Intel-NetbatchD-2012-1", "l_intel_netbatch", None, 9_054_066, "from 2012",
        INTEL, NETBATCH),
    Log("METACENTRUM-2013-3", "l_metacentrum2", 8412, 5_731_100, "Jan 2013 - Apr 2015",
        METACENTRUM + "; cite Klusacek, Toth, Podolnikova, JSSPP 2015",
        "19 unlike clusters that came and went; scheduling changed midway"),
    Log("UniLu-Gaia-2014-2", "l_unilu_gaia", 2004, 51_987, "May 2014 - Aug 2014",
        "Joseph Emeras, University of Luxembourg", "unlike nodes, some with GPUs"),
    Log("KIT-FH2-2016-1", "l_kit_fh2", 24_048, 114_355, "Jun 2016 - Jan 2018",
        "Mehmet Soysal, KIT", "whole nodes; not all of the machine's jobs are in it"),
)  # fmt: skip


def find_log(name: str) -> Log:
    """Return the log of a name, with or without .swf or .swf.gz.

    Raises UnknownNameError if the archive has no such log. A name therefore never leads out of a
    folder.
    """
    logs = {log.name: log for log in CATALOGUE}
    short = name.removesuffix(".gz").removesuffix(".swf")
    if short not in logs:
        raise UnknownNameError("log", name, logs)
    return logs[short]
