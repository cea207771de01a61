package acidsql;

import java.io.IOException;
import java.io.Serializable;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.orc.ColumnStatistics;
import org.apache.orc.IntegerColumnStatistics;
import org.apache.orc.OrcFile;
import org.apache.orc.Reader;
import org.apache.orc.TypeDescription;
import org.apache.orc.mapred.OrcInputFormat;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.FileFormat$;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.RecordReaderIterator;
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat;
import org.apache.spark.sql.execution.datasources.orc.OrcUtils;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.SerializableConfiguration;

/**
 * Reads insert events for Spark, whose columns are the event columns and the fields of `row`.
 *
 * <p>A field `a` is asked for as `row.a`. ORC's own reader decodes the files. Other than Spark's
 * format of ORC files, this one hands the fields of `row` out as columns of their own, and decimals
 * of up to 18 digits as longs.
 *
 * <p>A delete event, whose `row` is null, is an error.
 *
 * <p>Spark compiles this source by Janino, which knows no type arguments: hence the casts.
 */
public final class EventFormat extends OrcFileFormat {
  /** An error if this Spark lacks what the format finds by its name. */
  public EventFormat() throws ReflectiveOperationException {
    Events.toSpark();
  }

  public scala.Function1 buildReaderWithPartitionValues(
      SparkSession spark,
      StructType dataSchema,
      StructType partitionSchema,
      StructType requiredSchema,
      scala.collection.immutable.Seq filters,
      scala.collection.immutable.Map options,
      Configuration conf) {
    SQLConf settings = SQLConf.get();
    boolean inBatches = "true".equals(options.apply(FileFormat$.MODULE$.OPTION_RETURNING_BATCH()));
    Broadcast shared =
        new JavaSparkContext(spark.sparkContext()).broadcast(new SerializableConfiguration(conf));
    return new Opening(
        shared,
        requiredSchema,
        inBatches,
        settings.caseSensitiveAnalysis(),
        settings.orcVectorizedReaderBatchSize());
  }

  /** A file → the batches of its rows, or the rows. */
  private static final class Opening extends scala.runtime.AbstractFunction1
      implements Serializable {
    private final Broadcast conf;
    private final StructType schema;
    private final boolean inBatches;
    private final boolean isCaseSensitive;
    private final int capacity;

    Opening(
        Broadcast conf,
        StructType schema,
        boolean inBatches,
        boolean isCaseSensitive,
        int capacity) {
      this.conf = conf;
      this.schema = schema;
      this.inBatches = inBatches;
      this.isCaseSensitive = isCaseSensitive;
      this.capacity = capacity;
    }

    public Object apply(Object given) {
      PartitionedFile file = (PartitionedFile) given;
      try {
        return this.open(file.toPath(), file.start(), file.length());
      } catch (Exception e) {
        Platform.throwException(e); // as it is: Spark tells a missing file by the class
        return null;
      }
    }

    private Object open(Path path, long start, long length)
        throws IOException, ReflectiveOperationException {
      Configuration conf = ((SerializableConfiguration) this.conf.value()).value();
      OrcFile.ReaderOptions opening =
          OrcFile.readerOptions(conf).filesystem(path.getFileSystem(conf));
      Reader reader = OrcFile.createReader(path, opening);
      boolean isOpened = false;
      try {
        requireEvents(path, reader.getSchema());
        RecordReaderIterator iterator =
            new RecordReaderIterator(this.events(path, reader, conf, start, length));
        isOpened = true;
        if (TaskContext.get() != null) {
          TaskContext.get().addTaskCompletionListener(new Closing(iterator));
        }
        return iterator;
      } finally {
        if (!isOpened) {
          reader.close();
        }
      }
    }

    private Events events(
        Path path, Reader reader, Configuration conf, long start, long length)
        throws IOException, ReflectiveOperationException {
      TypeDescription file = reader.getSchema();
      TypeDescription wanted = this.wanted(file);
      Long[] constants = constants(reader);
      Reader.Options options = OrcInputFormat.buildOptions(conf, reader, start, length);
      options.schema(wanted).include(this.included(wanted, constants));
      options.isSchemaEvolutionCaseAware(this.isCaseSensitive);
      Events events =
          new Events(
              path, this.schema, file, wanted, constants, this.capacity, this.inBatches);
      events.open(reader, options);
      return events;
    }

    /** The event columns, and those fields of `row` that are asked for. */
    private TypeDescription wanted(TypeDescription file) {
      TypeDescription row = TypeDescription.createStruct();
      StructField[] fields = this.schema.fields();
      for (int i = 0; i < fields.length; i++) {
        if (fields[i].name().startsWith(Events.FIELD)) {
          row.addField(
              fields[i].name().substring(Events.FIELD.length()),
              TypeDescription.fromString(OrcUtils.getOrcSchemaString(fields[i].dataType())));
        }
      }
      TypeDescription root = TypeDescription.createStruct();
      for (int i = 0; i < Events.ROW; i++) {
        TypeDescription type = (TypeDescription) file.getChildren().get(i);
        root.addField((String) file.getFieldNames().get(i), type.clone());
      }
      return root.addField((String) file.getFieldNames().get(Events.ROW), row);
    }

    private boolean[] included(TypeDescription wanted, Long[] constants) {
      boolean[] included = new boolean[wanted.getMaximumId() + 1];
      for (int id = 0; id < included.length; id++) {
        boolean isEventColumn = id > 0 && id <= Events.ROW;
        included[id] = !isEventColumn || constants[id - 1] == null && this.isAskedFor(id - 1);
      }
      return included;
    }

    private boolean isAskedFor(int eventColumn) {
      StructField[] fields = this.schema.fields();
      for (int i = 0; i < fields.length; i++) {
        if (fields[i].name().equalsIgnoreCase(Events.COLUMNS[eventColumn])) {
          return true;
        }
      }
      return false;
    }
  }

  private static void requireEvents(Path path, TypeDescription schema) throws IOException {
    List names = schema.getFieldNames();
    boolean fits = names != null && names.size() == Events.COLUMNS.length;
    for (int i = 0; fits && i < Events.COLUMNS.length; i++) {
      fits = ((String) names.get(i)).equalsIgnoreCase(Events.COLUMNS[i]);
    }
    if (!fits) {
      throw new IOException("file \"" + path + "\" is not an ACID file");
    }
  }

  /** The value of each event column that has the same in all events of the file, or null. */
  private static Long[] constants(Reader reader) {
    Long[] found = new Long[Events.ROW];
    ColumnStatistics[] columns = reader.getStatistics(); // none in a file without statistics
    for (int i = 0; i < Events.ROW && i + 1 < columns.length; i++) {
      ColumnStatistics column = columns[i + 1];
      if (column instanceof IntegerColumnStatistics
          && column.getNumberOfValues() == reader.getNumberOfRows()) {
        long least = ((IntegerColumnStatistics) column).getMinimum();
        boolean isSame = least == ((IntegerColumnStatistics) column).getMaximum();
        found[i] = isSame ? Long.valueOf(least) : null;
      }
    }
    return found;
  }

  /** Closes a file when its task ends, however that is. */
  private static final class Closing implements org.apache.spark.util.TaskCompletionListener {
    private final RecordReaderIterator iterator;

    Closing(RecordReaderIterator iterator) {
      this.iterator = iterator;
    }

    public void onTaskCompletion(TaskContext context) {
      this.iterator.close();
    }
  }
}
