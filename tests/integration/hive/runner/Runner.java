import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.api.FieldSchema;
import org.apache.hadoop.hive.metastore.api.Schema;
import org.apache.hadoop.hive.ql.IDriver;
import org.apache.hadoop.hive.ql.processors.CommandProcessor;
import org.apache.hadoop.hive.ql.processors.CommandProcessorFactory;
import org.apache.hadoop.hive.ql.processors.CommandProcessorResponse;
import org.apache.hadoop.hive.ql.session.SessionState;

/**
 * A Hive with its metastore in one process. Usage: Runner DIRECTORY [METASTORE_PORT].
 *
 * Says READY, then reads a statement per line of standard input. A line is answered by one JSON
 * object per row and ended by DONE, or by ERROR and the messages of the exception as a JSON string.
 * A line that begins with "!" is a verb of {@link Verbs}. With a port, the metastore answers Thrift
 * there as well. Everything of the process lies in the directory.
 */
public class Runner {
  static HiveConf conf;

  public static void main(String[] args) throws Exception {
    // Tez prints to standard output, which is kept for the answers.
    PrintStream answers = new PrintStream(System.out, true, "UTF-8");
    System.setOut(System.err);
    Path home = Paths.get(args[0]);
    Metastore.prepare(home);
    conf = new HiveConf(SessionState.class);
    if (args.length > 1) {
      Metastore.serve(Integer.parseInt(args[1]), conf);
    }
    start(conf);
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    answers.println("READY");
    for (String line; (line = lines.readLine()) != null;) {
      try {
        for (String row : run(line)) {  // not trimmed: a partition may end in blanks
          answers.println(row);
        }
        answers.println("DONE");
      } catch (Throwable error) {
        error.printStackTrace();
        answers.println("ERROR " + Rows.text(messages(error)));
      }
    }
    Runtime.getRuntime().halt(0);  // Hive's own threads would keep the process
  }

  /** A session for this thread. */
  static void start(HiveConf conf) throws Exception {
    SessionState session = SessionState.start(new SessionState(conf));
    session.out = console();
    session.err = console();
    session.setIsSilent(true);
  }

  private static List<String> run(String line) throws Throwable {
    System.err.println("> " + line);
    try {
      return line.startsWith("!") ? Verbs.run(line.substring(1)) : query(line, conf);
    } catch (InvocationTargetException error) {
      throw error.getCause();
    }
  }

  static List<String> query(String sql, HiveConf conf) throws Exception {
    String[] words = sql.split("\\s+");
    CommandProcessor processor = CommandProcessorFactory.get(words, conf);
    if (!(processor instanceof IDriver)) {  // SET and its like do not want their first word
      check(processor.run(sql.substring(words[0].length()).trim()));
      return Collections.emptyList();
    }
    IDriver driver = (IDriver) processor;
    try {
      check(driver.run(sql));
      Schema schema = driver.getSchema();
      List<FieldSchema> fields =
          schema == null || schema.getFieldSchemas() == null
              ? Collections.emptyList() : schema.getFieldSchemas();
      List<Object> batch = new ArrayList<>();
      List<String> rows = new ArrayList<>();
      while (driver.getResults(batch)) {
        for (Object row : batch) {
          rows.add(Rows.json(row, fields));
        }
        batch.clear();
      }
      return rows;
    } finally {
      driver.close();
      driver.destroy();
    }
  }

  /** Hive 3 answers with a code where Hive 4 throws. */
  private static void check(CommandProcessorResponse response) throws Exception {
    if (response == null) {
      return;
    }
    Class<?> type = response.getClass();
    try {
      if ((Integer) type.getMethod("getResponseCode").invoke(response) != 0) {
        throw new Exception((String) type.getMethod("getErrorMessage").invoke(response));
      }
    } catch (NoSuchMethodException hive4) {
      return;
    }
  }

  private static String messages(Throwable error) {
    StringBuilder text = new StringBuilder();
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      text.append(text.length() > 0 ? "\ncaused by " : "").append(cause);
    }
    return text.toString();
  }

  /** Hive 4 wants a stream class of its own where Hive 3 takes a PrintStream. */
  @SuppressWarnings("unchecked")
  private static <T> T console() throws Exception {
    try {
      return (T) Class.forName("org.apache.hadoop.hive.common.io.SessionStream")
          .getConstructor(OutputStream.class, boolean.class, String.class)
          .newInstance(System.err, true, "UTF-8");
    } catch (ClassNotFoundException hive3) {
      return (T) new PrintStream(System.err, true, "UTF-8");
    }
  }
}
