package acidsql;

import java.io.IOException;
import java.lang.reflect.Method;
import java.util.Iterator;
import java.util.List;
import java.util.function.Consumer;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.exec.vector.ColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.Decimal64ColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.LongColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.StructColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedRowBatch;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.orc.OrcFilterContext;
import org.apache.orc.Reader;
import org.apache.orc.TypeDescription;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.execution.datasources.orc.OrcColumnVector;
import org.apache.spark.sql.execution.vectorized.ConstantColumnVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * The insert events of a file, or of the stripes of one task: batches for Spark, or rows.
 *
 * <p>Batches without a row for which the conditions may be true are left out.
 *
 * <p>The class is public because Janino looks up the constants of a class that it has compiled.
 */
public final class Events extends RecordReader {
  /** The event columns, by Hive's names. */
  public static final String[] COLUMNS = {
    "operation", "originalTransaction", "bucket", "rowId", "currentTransaction", "row"
  };

  /** The index of `row` among the event columns. */
  public static final int ROW = 5;

  /** What the name of a field of `row` begins with. */
  public static final String FIELD = "row.";

  private static final ColumnVector[] NONE = {};
  private static final String VECTORS =
      "org.apache.spark.sql.execution.datasources.orc.OrcColumnVectorUtils";

  private final Path path;
  private final VectorizedRowBatch batch;
  private final Row row;
  private final TypeDescription types;
  private final org.apache.spark.sql.vectorized.ColumnVector[] columns;
  private final ColumnarBatch columnar;
  private final UnsafeProjection projection;
  private org.apache.orc.RecordReader rows;
  private Iterator left;
  private Object current;

  Events(
      Path path,
      StructType schema,
      TypeDescription file,
      TypeDescription wanted,
      Long[] constants,
      int capacity,
      boolean inBatches)
      throws ReflectiveOperationException {
    this.path = path;
    TypeDescription fileRow = (TypeDescription) file.getChildren().get(ROW);
    this.types = (TypeDescription) wanted.getChildren().get(ROW);
    List kinds = this.types.getChildren();
    ColumnVector[] fields = new ColumnVector[kinds.size()];
    StructField[] asked = schema.fields();
    this.columns = new org.apache.spark.sql.vectorized.ColumnVector[asked.length];
    this.batch = new VectorizedRowBatch(COLUMNS.length, capacity);
    for (int i = 0; i < ROW; i++) {
      this.batch.cols[i] = new LongColumnVector(capacity);
    }
    Method toSpark = toSpark();
    int at = 0;
    for (int i = 0; i < asked.length; i++) {
      DataType type = asked[i].dataType();
      if (asked[i].name().startsWith(FIELD)) {
        TypeDescription kind = (TypeDescription) kinds.get(at);
        boolean isLong =
            isLongDecimal(kind, fileRow, asked[i].name().substring(FIELD.length()));
        ColumnVector vector = vector(kind, capacity, isLong);
        fields[at] = vector;
        at++;
        this.columns[i] =
            isLong
                ? (org.apache.spark.sql.vectorized.ColumnVector)
                    new LongDecimals(type, (Decimal64ColumnVector) vector)
                : spark(toSpark, type, vector);
      } else {
        int column = eventColumn(asked[i].name());
        this.columns[i] =
            constants[column] != null
                ? constant(type, constants[column].longValue())
                : spark(toSpark, type, this.batch.cols[column]);
      }
    }
    this.row = new Row(capacity, fields);
    this.batch.cols[ROW] = this.row;
    this.columnar = new ColumnarBatch(this.columns);
    this.projection = inBatches ? null : UnsafeProjection.create(schema);
  }

  /** Spark's own vectors over those of ORC's reader. */
  static Method toSpark() throws ReflectiveOperationException {
    Class[] parameters = {DataType.class, ColumnVector.class};
    Method found = Class.forName(VECTORS).getDeclaredMethod("toOrcColumnVector", parameters);
    found.setAccessible(true);
    return found;
  }

  private static org.apache.spark.sql.vectorized.ColumnVector spark(
      Method toSpark, DataType type, ColumnVector vector) throws ReflectiveOperationException {
    Object[] arguments = {type, vector};
    return (org.apache.spark.sql.vectorized.ColumnVector) toSpark.invoke(null, arguments);
  }

  /** A column of the event columns' types, bigint and int. */
  private static ConstantColumnVector constant(DataType type, long value) {
    ConstantColumnVector vector = new ConstantColumnVector(1, type);
    vector.setNotNull();
    vector.setLong(value);
    vector.setInt((int) value);
    return vector;
  }

  private static int eventColumn(String name) {
    for (int i = 0; i < ROW; i++) {
      if (COLUMNS[i].equalsIgnoreCase(name)) {
        return i;
      }
    }
    throw new IllegalArgumentException("there is no event column \"" + name + "\"");
  }

  /** Whether the values are decimals of at most 18 digits in the file, and asked for as such. */
  private static boolean isLongDecimal(TypeDescription kind, TypeDescription row, String name) {
    int at = row.getFieldNames().indexOf(name);
    return at >= 0
        && kind.getCategory() == TypeDescription.Category.DECIMAL
        && kind.getPrecision() <= TypeDescription.MAX_DECIMAL64_PRECISION
        && kind.equals(row.getChildren().get(at), false);
  }

  private static ColumnVector vector(TypeDescription kind, int capacity, boolean isLong) {
    TypeDescription parent = TypeDescription.createStruct().addField("", kind.clone());
    TypeDescription.RowBatchVersion version =
        isLong
            ? TypeDescription.RowBatchVersion.USE_DECIMAL64
            : TypeDescription.RowBatchVersion.ORIGINAL;
    return parent.createRowBatch(version, capacity).cols[0];
  }

  /** Opens the file. The columns of conditions are read first, and others if a row may pass. */
  void open(Reader reader, Reader.Options options) throws IOException {
    TypeDescription row = (TypeDescription) reader.getSchema().getChildren().get(ROW);
    BatchTest test =
        BatchTest.of(
            options.getSearchArgument(), this.types, row.getFieldNames(), this.row.fields);
    if (test != null && reader.getRowIndexStride() > 0) {
      options.setRowFilter(quoted(test.columns), new Skipping(test, this.batch, this.row));
    }
    this.rows = reader.rows(options);
  }

  private static String[] quoted(String[] names) {
    String[] quoted = new String[names.length];
    for (int i = 0; i < names.length; i++) {
      quoted[i] = "`" + names[i].replace("`", "``") + "`";
    }
    return quoted;
  }

  public void initialize(InputSplit split, TaskAttemptContext context) {}

  public boolean nextKeyValue() throws IOException {
    if (this.projection == null) {
      this.current = this.columnar;
      return this.nextBatch();
    }
    while (this.left == null || !this.left.hasNext()) {
      if (!this.nextBatch()) {
        return false;
      }
      this.left = this.columnar.rowIterator();
    }
    this.current = this.projection.apply((InternalRow) this.left.next());
    return true;
  }

  private boolean nextBatch() throws IOException {
    this.row.tested = NONE;
    this.rows.nextBatch(this.batch);
    int size = this.batch.size;
    if (size == 0) {
      return false;
    }
    this.requireRows(size);
    this.columnar.setNumRows(size);
    for (int i = 0; i < this.columns.length; i++) {
      if (this.columns[i] instanceof OrcColumnVector) {
        ((OrcColumnVector) this.columns[i]).setBatchSize(size);
      } else if (this.columns[i] instanceof LongDecimals) {
        ((LongDecimals) this.columns[i]).size = size;
      }
    }
    return true;
  }

  private void requireRows(int size) throws IOException {
    if (this.row.noNulls) {
      return;
    }
    for (int i = 0; i < (this.row.isRepeating ? 1 : size); i++) {
      if (this.row.isNull[i]) {
        throw new IOException("file \"" + this.path + "\" has events without a row");
      }
    }
  }

  public Object getCurrentKey() {
    return null;
  }

  public Object getCurrentValue() {
    return this.current;
  }

  public float getProgress() throws IOException {
    return this.rows.getProgress();
  }

  public void close() throws IOException {
    this.columnar.close();
    if (this.rows != null) {
      this.rows.close();
    }
  }

  /** Skips a batch that has no row for which the conditions may be true. */
  private static final class Skipping implements Consumer {
    private final BatchTest test;
    private final VectorizedRowBatch batch;
    private final Row row;

    Skipping(BatchTest test, VectorizedRowBatch batch, Row row) {
      this.test = test;
      this.batch = batch;
      this.row = row;
    }

    public void accept(Object context) {
      if (this.test.passes(this.batch.size)) {
        this.row.tested = this.test.vectors;
      } else {
        ((OrcFilterContext) context).setSelectedInUse(true);
        ((OrcFilterContext) context).setSelectedSize(0);
      }
    }
  }

  /**
   * The fields of a batch's rows.
   *
   * <p>If ORC's reader has skipped batches, it resets the struct before it reads those fields that
   * are not tested, and all fields with it (StructBatchReader). The tested ones have been read.
   */
  private static final class Row extends StructColumnVector {
    ColumnVector[] tested = NONE;

    Row(int capacity, ColumnVector[] fields) {
      super(capacity, fields);
    }

    public void reset() {
      if (this.tested.length == 0) {
        super.reset();
        return;
      }
      this.noNulls = true;
      this.isRepeating = false;
      for (int i = 0; i < this.fields.length; i++) {
        if (!this.isTested(this.fields[i])) {
          this.fields[i].reset();
        }
      }
    }

    private boolean isTested(ColumnVector field) {
      for (int i = 0; i < this.tested.length; i++) {
        if (this.tested[i] == field) {
          return true;
        }
      }
      return false;
    }
  }
}
