"""What annotation tools write: Label Studio, doccano, Argilla, CVAT, records, wide tables."""

from mdba_checks.tables.exports.reading import Imported, Wishes, read_export

__all__ = ["Imported", "Wishes", "read_export"]
