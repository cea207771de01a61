package acidsql;

import java.io.EOFException;
import java.io.IOException;
import java.net.URI;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.orc.OrcFile;
import org.apache.orc.OrcProto;
import org.apache.orc.impl.OrcTail;

/**
 * Shows event files to ORC's reader as files of plain columns.
 *
 * <p>Behind the bytes of a file it shows a second footer and postscript. In this footer the fields
 * of `row` are columns beside the event columns, called `row.a` where the field is called `a`, and
 * `row` itself is a struct without fields. ORC numbers types in pre-order and `row` is the root's
 * last column, so each column keeps its number, and all streams of the stripes are as they were.
 *
 * <p>The streams of a field have no values for rows whose `row` is null. A file that has such rows,
 * delete events, is an error.
 *
 * <p>Spark compiles this source by Janino, which knows no type arguments: hence the casts.
 */
public final class FlatEvents extends FilterFileSystem {
  private static final String[] EVENT_COLUMNS = {
    "operation", "originalTransaction", "bucket", "rowId", "currentTransaction", "row"
  };
  private static final int ROW = 6; // the root is 0
  private static final int GUESS = 16 * 1024; // so many bytes at the end ORC's reader asks for
  private static final int CHUNK_MAX = (1 << 23) - 1;

  /** The file systems below, by scan. To copy the configuration for each file would be slow. */
  private static final Map BELOW =
      new LinkedHashMap(16, 0.75f, true) {
        protected boolean removeEldestEntry(Map.Entry eldest) {
          return this.size() > 64;
        }
      };

  private final Map tails = new HashMap();

  public void initialize(URI uri, Configuration conf) throws IOException {
    this.fs = below(uri, conf);
    super.initialize(uri, conf);
  }

  public FileStatus getFileStatus(Path path) throws IOException {
    FileStatus found = this.fs.getFileStatus(path);
    if (found.isDirectory()) {
      return found;
    }
    Tail tail = new Tail(found.getLen(), flatTail(path, found.getLen()));
    synchronized (this.tails) {
      this.tails.put(path, tail);
    }
    return new FileStatus(
        tail.start + tail.bytes.length,
        false,
        found.getReplication(),
        found.getBlockSize(),
        found.getModificationTime(),
        found.getPath());
  }

  public FSDataInputStream open(Path path, int bufferSize) throws IOException {
    return new FSDataInputStream(new Stream(path, bufferSize));
  }

  /** Opens the file itself. Another class, even one within this one, may not use `fs`. */
  FSDataInputStream openBelow(Path path, int bufferSize) throws IOException {
    return this.fs.open(path, bufferSize);
  }

  /** The file system that the session has for such paths, which Hadoop keeps for all readers. */
  private static FileSystem below(URI uri, Configuration conf) throws IOException {
    String key = conf.get("acidsql.read") + " " + uri.getScheme() + "://" + uri.getAuthority();
    synchronized (BELOW) {
      FileSystem found = (FileSystem) BELOW.get(key);
      if (found == null) {
        found = FileSystem.get(uri, withoutThis(conf));
        BELOW.put(key, found);
      }
      return found;
    }
  }

  /** The settings of the session. A viewfs opens by them the files of all schemes. */
  private static Configuration withoutThis(Configuration conf) {
    Configuration own = new Configuration(conf);
    for (Object found : conf.getValByRegex("^fs\\..*\\.impl$").entrySet()) {
      Map.Entry setting = (Map.Entry) found;
      if (FlatEvents.class.getName().equals(setting.getValue())) {
        restore(own, (String) setting.getKey());
        restore(own, setting.getKey() + ".disable.cache");
      }
    }
    return own;
  }

  /** Gives a setting the value back that it had before this class was named in it. */
  private static void restore(Configuration conf, String key) {
    String before = conf.get("acidsql." + key);
    if (before == null) {
      conf.unset(key);
    } else {
      conf.set(key, before);
    }
  }

  private byte[] flatTail(Path path, long length) throws IOException {
    OrcFile.ReaderOptions options = OrcFile.readerOptions(this.getConf());
    options = options.filesystem(this.fs).maxLength(length);
    OrcFile.createReader(path, options).close();
    OrcTail tail = options.getOrcTail();
    OrcProto.PostScript postscript = tail.getPostScript();
    byte[] footer = flatFooter(path, tail.getFooter()).toByteArray();
    if (postscript.getCompression() != OrcProto.CompressionKind.NONE) {
      footer = originalChunks(footer, (int) postscript.getCompressionBlockSize());
    }
    OrcProto.PostScript.Builder changed = postscript.toBuilder();
    changed.setFooterLength(footer.length).setMetadataLength(0);
    byte[] end = changed.build().toByteArray();
    // In front there are as many bytes as ORC's reader asks for: so it asks for none of the file's.
    byte[] bytes = new byte[GUESS + footer.length + end.length + 1];
    System.arraycopy(footer, 0, bytes, GUESS, footer.length);
    System.arraycopy(end, 0, bytes, GUESS + footer.length, end.length);
    bytes[bytes.length - 1] = (byte) end.length;
    return bytes;
  }

  private static OrcProto.Footer flatFooter(Path path, OrcProto.Footer footer) throws IOException {
    requireEvents(path, footer);
    OrcProto.Type row = footer.getTypes(ROW);
    OrcProto.Type.Builder root = footer.getTypes(0).toBuilder().clearFieldNames();
    for (int i = 0; i < ROW - 1; i++) {
      root.addFieldNames(EVENT_COLUMNS[i]);
    }
    root.addFieldNames("row."); // by another name, since ORC's reader knows ACID files by their names
    for (int i = 0; i < row.getSubtypesCount(); i++) {
      root.addSubtypes(row.getSubtypes(i)).addFieldNames("row." + row.getFieldNames(i));
    }
    OrcProto.Type.Builder empty = row.toBuilder().clearSubtypes().clearFieldNames();
    return footer.toBuilder().setTypes(0, root).setTypes(ROW, empty).build();
  }

  /** An IOException unless the file has the event columns, and a `row` in each event. */
  private static void requireEvents(Path path, OrcProto.Footer footer) throws IOException {
    OrcProto.Type root = footer.getTypes(0);
    boolean fits = root.getFieldNamesCount() == EVENT_COLUMNS.length;
    for (int i = 0; fits && i < EVENT_COLUMNS.length; i++) {
      fits = root.getFieldNames(i).equalsIgnoreCase(EVENT_COLUMNS[i]);
    }
    if (!fits || root.getSubtypes(ROW - 1) != ROW) {
      throw new IOException("file \"" + path + "\" is not an ACID file");
    }
    if (footer.getNumberOfRows() > 0 && !hasRows(footer)) {
      throw new IOException("file \"" + path + "\" may have events without a row");
    }
  }

  /** Whether the statistics say that `row` is never null. */
  private static boolean hasRows(OrcProto.Footer footer) {
    if (footer.getStatisticsCount() <= ROW) {
      return false;
    }
    OrcProto.ColumnStatistics row = footer.getStatistics(ROW);
    if (row.hasHasNull()) {
      return !row.getHasNull();
    }
    return row.hasNumberOfValues() && row.getNumberOfValues() == footer.getNumberOfRows();
  }

  /** The data as a section of a compressed file, in chunks that are not compressed. */
  private static byte[] originalChunks(byte[] data, int blockSize) {
    int size = Math.min(blockSize, CHUNK_MAX);
    int chunks = (data.length + size - 1) / size;
    byte[] bytes = new byte[data.length + 3 * chunks];
    int at = 0;
    for (int start = 0; start < data.length; start += size) {
      int length = Math.min(size, data.length - start);
      int header = length << 1 | 1;
      bytes[at++] = (byte) header;
      bytes[at++] = (byte) (header >> 8);
      bytes[at++] = (byte) (header >> 16);
      System.arraycopy(data, start, bytes, at, length);
      at += length;
    }
    return bytes;
  }

  /** What a file is shown to have behind its own bytes. */
  private static final class Tail {
    final long start;
    final byte[] bytes;

    Tail(long start, byte[] bytes) {
      this.start = start;
      this.bytes = bytes;
    }
  }

  /** A file's own bytes, and the tail behind them. The file is opened when a byte is asked for. */
  private final class Stream extends FSInputStream {
    private final Path path;
    private final int bufferSize;
    private FSDataInputStream file;
    private long position;

    Stream(Path path, int bufferSize) {
      this.path = path;
      this.bufferSize = bufferSize;
    }

    public int read(long at, byte[] buffer, int offset, int length) throws IOException {
      Tail tail = this.tail();
      if (tail == null) {
        return this.file().read(at, buffer, offset, length);
      }
      if (at < tail.start) {
        return this.file().read(at, buffer, offset, (int) Math.min(length, tail.start - at));
      }
      int from = (int) Math.min(at - tail.start, tail.bytes.length);
      int count = Math.min(length, tail.bytes.length - from);
      System.arraycopy(tail.bytes, from, buffer, offset, count);
      return count > 0 || length == 0 ? count : -1;
    }

    public void readFully(long at, byte[] buffer, int offset, int length) throws IOException {
      Tail tail = this.tail();
      if (tail == null || at + length <= tail.start) {
        this.file().readFully(at, buffer, offset, length);
        return;
      }
      for (int done = 0; done < length; ) {
        int count = this.read(at + done, buffer, offset + done, length - done);
        if (count < 0) {
          throw new EOFException("file \"" + this.path + "\" ends too early");
        }
        done += count;
      }
    }

    /** Has the file system read many ranges in its own way, as ORC asks for the data of stripes. */
    public void readVectored(List ranges, IntFunction allocate) throws IOException {
      this.file().readVectored(ranges, allocate);
    }

    public int read(byte[] buffer, int offset, int length) throws IOException {
      int count = this.read(this.position, buffer, offset, length);
      this.position += Math.max(count, 0);
      return count;
    }

    public int read() throws IOException {
      byte[] one = new byte[1];
      return this.read(one, 0, 1) < 0 ? -1 : one[0] & 255;
    }

    public void seek(long to) {
      this.position = to;
    }

    public long getPos() {
      return this.position;
    }

    public boolean seekToNewSource(long to) {
      return false;
    }

    public void close() throws IOException {
      if (this.file != null) {
        this.file.close();
      }
    }

    /** The tail, once it was asked for how long the file is: a reader that has a tail does not. */
    private Tail tail() {
      synchronized (FlatEvents.this.tails) {
        return (Tail) FlatEvents.this.tails.get(this.path);
      }
    }

    private FSDataInputStream file() throws IOException {
      if (this.file == null) {
        this.file = FlatEvents.this.openBelow(this.path, this.bufferSize);
      }
      return this.file;
    }
  }
}
