import java.io.BufferedReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;

import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hive.streaming.HiveStreamingConnection;
import org.apache.hive.streaming.StreamingConnection;
import org.apache.hive.streaming.StrictDelimitedInputWriter;

/** One batch of a streaming connection; hive-streaming of Hive 4 is not on Maven Central. */
class Streams {
  /** Each transaction is "commit" or "abort", then its records with | between them. */
  static void run(String table, int size, String[] transactions) throws Exception {
    StreamingConnection connection = connect(table, size);
    try {
      for (int at = 0; at < transactions.length; at += 2) {
        connection.beginTransaction();
        for (String record : transactions[at + 1].split("\\|")) {
          connection.write(record.getBytes(StandardCharsets.UTF_8));
        }
        if (transactions[at].equals("commit")) {
          connection.commitTransaction();
        } else {
          connection.abortTransaction();
        }
      }
    } finally {
      connection.close();
    }
  }

  /** The lines of a file, in transactions of so many records. */
  static void ingest(String table, int size, int records, String file) throws Exception {
    StreamingConnection connection = connect(table, size);
    try (BufferedReader lines = Files.newBufferedReader(Paths.get(file))) {
      String line = lines.readLine();
      while (line != null) {
        connection.beginTransaction();
        for (int at = 0; at < records && line != null; at++) {
          connection.write(line.getBytes(StandardCharsets.UTF_8));
          line = lines.readLine();
        }
        connection.commitTransaction();
      }
    } finally {
      connection.close();
    }
  }

  private static StreamingConnection connect(String table, int size) throws Exception {
    String[] name = table.split("\\.");
    return HiveStreamingConnection.newBuilder()
        .withDatabase(name[0])
        .withTable(name[1])
        .withAgentInfo("runner")
        .withTransactionBatchSize(size)
        .withRecordWriter(
            StrictDelimitedInputWriter.newBuilder().withFieldDelimiter(',').build())
        .withHiveConf(new HiveConf(Runner.conf))
        .connect();
  }
}
