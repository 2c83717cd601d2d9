"""Arrow tables into a PostgreSQL server and back, as the texts that COPY reads and writes."""

import io

import pyarrow
import pyarrow.csv

from evenhand.engines.sql.dialects import dialect_of

TYPES = {"large_string": "text", "string": "text", "null": "text", "bool": "boolean"}
TYPES |= {"int64": "bigint", "int32": "integer", "int16": "smallint", "double": "double precision", "float": "real"}
TYPES |= {"timestamp[us]": "timestamp", "date32[day]": "date"}


def load(postgres, table, name="people", **types):
    """Make a table of an Arrow table; columns may be given types of their own."""
    quoted = dialect_of("postgres").name
    columns = (f"{quoted(f.name)} {types.get(f.name, TYPES[str(f.type)])}" for f in table.schema)
    postgres.execute(f"DROP TABLE IF EXISTS {quoted(name)} CASCADE")
    postgres.execute(f"CREATE UNLOGGED TABLE {quoted(name)} ({', '.join(columns)})")
    text = io.BytesIO()
    pyarrow.csv.write_csv(table, text, pyarrow.csv.WriteOptions(include_header=False))
    with postgres.cursor() as cursor, cursor.copy(f"COPY {quoted(name)} FROM STDIN (FORMAT csv)") as copy:
        copy.write(text.getbuffer())


def ask(postgres, query, schema):
    """Run a query and read its rows; quotes tell an empty text from a null."""
    text = io.BytesIO()
    with postgres.cursor() as cursor, cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv)") as copy:
        for piece in copy:
            text.write(piece)
    text.seek(0)
    return pyarrow.csv.read_csv(
        text,
        pyarrow.csv.ReadOptions(column_names=schema.names),
        pyarrow.csv.ParseOptions(newlines_in_values=True),
        pyarrow.csv.ConvertOptions(
            column_types=schema,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            true_values=["t"],
            false_values=["f"],
        ),
    )
