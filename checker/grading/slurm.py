"""Dask workers that are Slurm jobs."""

from __future__ import annotations

import logging
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dask
from distributed import Security
from tornado.ioloop import PeriodicCallback

from checker.course.places import ROOT
from checker.grading.crew import NoCrew
from checker.grading.worker import NO_DASHBOARD

_interrupted = signal.getsignal(signal.SIGINT)
from dask_jobqueue import SLURMCluster  # noqa: E402 (it takes Ctrl-C for itself)

signal.signal(signal.SIGINT, _interrupted)

_AGAIN = 2000  # ms after which to look whether a job has ended
_MEMORY = "4 GB"  # of a job, if dask-jobqueue's configuration says nothing else


@contextmanager
def cluster(private: Path) -> Iterator[SLURMCluster]:
    """A scheduler here, for jobs of one worker each, as dask-jobqueue's configuration has them. There are none yet.

    `private`: a folder on a shared file system that only its owner can read. Whoever reads the key in it can have the
    workers do anything.
    """
    security = Security.temporary()
    pem = private / "dask.pem"
    pem.touch(mode=0o600)
    pem.write_text(f"{security.tls_client_key}{security.tls_client_cert}")
    parts = ("ca-file", "client.cert", "scheduler.cert", "worker.cert")
    said = dask.config.get("jobqueue.slurm")
    with (
        dask.config.set({f"distributed.comm.tls.{part}": str(pem) for part in parts}),
        SLURMCluster(
            cores=1,
            processes=1,
            memory=said["memory"] or _MEMORY,
            python=said["python"] or shlex.quote(sys.executable),
            protocol="tls://",
            worker_extra_args=[*said["worker-extra-args"], "--dashboard-address", NO_DASHBOARD],
            job_script_prologue=[
                *said["job-script-prologue"],
                f"export DASK_DISTRIBUTED__COMM__TLS__CA_FILE={shlex.quote(str(pem))}",
                f"export DASK_DISTRIBUTED__COMM__TLS__WORKER__CERT={shlex.quote(str(pem))}",
                f"cd {shlex.quote(str(ROOT))} || exit",  # where the checker is, and no module of a student's
            ],
            scheduler_options={"dashboard_address": NO_DASHBOARD, **said["scheduler-options"]},
            silence_logs=logging.CRITICAL,
        ) as made,
    ):
        yield made


def hand_in(cluster: SLURMCluster, jobs: int) -> None:
    """Have so many jobs, from now on until the cluster is closed. Raises NoCrew if Slurm takes none."""
    if not jobs:
        raise NoCrew("Say how many Slurm jobs you want: --jobs 8.")
    try:
        script = cluster.job_script()
        # Dask does not say why a job was not taken.
        subprocess.run(["sbatch", "--test-only"], input=script, capture_output=True, text=True, check=True)
    except FileNotFoundError as problem:
        raise NoCrew("There is no sbatch here: grade on a machine that can submit Slurm jobs.") from problem
    except subprocess.CalledProcessError as problem:
        raise NoCrew(f"Slurm does not accept the job: {problem.stderr.strip()}") from problem
    again = PeriodicCallback(lambda: cluster.scale(jobs=jobs), _AGAIN)  # one that has reached its time limit, say
    cluster.loop.add_callback(again.start)
    cluster.scale(jobs=jobs)
