"""nbgrader's configuration for a course: everything stock but the step that would execute a student's cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from checker.grading import settings

_STOCK_AFTER_EXECUTE = [
    *("nbgrader.preprocessors.IgnorePattern", "nbconvert.preprocessors.ClearMetadataPreprocessor"),
    *("nbgrader.preprocessors.LimitOutput", "nbgrader.preprocessors.SaveAutoGrades"),
]
_STOCK_GENERATE = (
    *("IncludeHeaderFooter", "InstantiateTests", "LockCells", "ClearSolutions", "ClearOutput", "CheckCellMetadata"),
    *(
        "ComputeChecksums",
        "SaveCells",
        "ClearHiddenTests",
        "ClearMarkScheme",
        "Deadline",
        "ComputeChecksums",
        "CheckCellMetadata",
    ),
)
_OURS = ("ClearSolutions", "ClearMarkScheme", "Deadline")


def configure(c: Any, folder: Path) -> None:
    """Fill in nbgrader's configuration object. Raises SettingsError, before anything is filled in."""
    c.CourseDirectory.course_id = settings.read(folder).id
    c.CourseDirectory.root = str(folder)
    c.Autograde.exporter_class = "checker.nbgrader.autograde.CleanNotebook"
    c.Autograde.autograde_preprocessors = [
        "checker.nbgrader.autograde.Judge",  # instead of Execute
        *_STOCK_AFTER_EXECUTE,
        "checker.nbgrader.autograde.LeaveToHand",
        "nbgrader.preprocessors.AssignLatePenalties",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    c.AssignLatePenalties.plugin_class = "checker.nbgrader.autograde.LatePolicy"
    c.Autograde.pre_convert_hook = "checker.nbgrader.autograde.under_one_name"
    c.ExportApp.plugin_class = "checker.nbgrader.gradebook.Grades"
    c.ZipCollectApp.extractor_plugin = "checker.nbgrader.collect.Unpack"
    c.ZipCollectApp.collector_plugin = "checker.nbgrader.collect.WhoseFile"
    c.FileNameCollectorPlugin.valid_ext = [".ipynb", ".py"]
    c.ExchangeFactory.collect = "checker.nbgrader.collect.CollectAllowed"
    c.ExchangeFactory.release_feedback = "checker.nbgrader.feedback.ReleaseFeedback"
    c.GenerateAssignment.preprocessors = [
        f"checker.nbgrader.release.{name}" if name in _OURS else f"nbgrader.preprocessors.{name}"
        for name in _STOCK_GENERATE
    ]
    c.HTMLExporter.preprocessors = ["checker.nbgrader.feedback.Unfolding"]  # of the formgrader's pages
    c.GenerateFeedback.exporter_class = "checker.nbgrader.feedback.FeedbackPage"
    c.GenerateFeedback.preprocessors = [
        "checker.nbgrader.release.ClearMarkScheme",  # rubrics are for graders
        "checker.nbgrader.feedback.GradesSoFar",
        "checker.nbgrader.feedback.Unfolding",
        "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
    ]
