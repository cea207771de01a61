import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.security.HadoopThriftAuthBridge;

/** The metastore: an embedded Derby database, and the settings of the whole process. */
class Metastore {
  /** A statement of a schema script with its quoted texts, or a comment. */
  private static final Pattern PIECE = Pattern.compile("--[^\n]*|((?:'[^']*'|\"[^\"]*\"|[^;'\"-]+|-(?!-))+)");

  /** A fresh database, and the settings written where every part of Hive finds them. */
  static void prepare(Path home) throws Exception {
    System.setProperty("derby.system.home", home.toString());
    System.setProperty("derby.stream.error.file", home.resolve("derby.log").toString());
    Path template = Paths.get(System.getProperty("runner.template"));
    if (!Files.exists(template)) {  // the script takes seconds, so it is run once per build
      Path made = Files.createTempDirectory(template.getParent(), "derby").resolve("db");
      createSchema("jdbc:derby:;databaseName=" + made);
      Files.move(made, template);
    }
    copy(template, home.resolve("metastore_db"));
    writeSite(home);
  }

  /** With settings in one HiveConf only, other threads of Hive would disagree with it. */
  private static void writeSite(Path home) throws IOException {
    Map<String, String> site = new LinkedHashMap<>();
    // Everything below one directory of the local file system.
    site.put("fs.defaultFS", "file:///");
    site.put("hadoop.tmp.dir", home.resolve("tmp").toString());
    site.put("javax.jdo.option.ConnectionURL", "jdbc:derby:;databaseName=" + home.resolve("metastore_db"));
    site.put("javax.jdo.option.ConnectionDriverName", "org.apache.derby.jdbc.EmbeddedDriver");
    site.put("hive.metastore.uris", "");
    site.put("hive.metastore.schema.verification", "false");
    site.put("datanucleus.schema.autoCreateAll", "false");
    site.put("hive.metastore.warehouse.dir", "file:" + home.resolve("warehouse"));
    site.put("hive.metastore.warehouse.external.dir", "file:" + home.resolve("external"));
    site.put("hive.exec.scratchdir", "file:" + home.resolve("scratch"));
    site.put("hive.exec.local.scratchdir", home.resolve("local").toString());
    site.put("hive.downloaded.resources.dir", home.resolve("resources").toString());
    site.put("hive.user.install.directory", "file:" + home.resolve("user"));
    site.put("hive.jar.directory", "file:" + home.resolve("user"));
    site.put("hive.querylog.location", home.resolve("querylog").toString());
    site.put("tez.staging-dir", "file:" + home.resolve("staging"));
    // Hive 4's own would make an external table elsewhere of a plain one, and ask what a client can do.
    site.put("metastore.metadata.transformer.class", " ");
    // ACID; the compactor's threads run when a test says so.
    site.put("metastore.txn.store.impl", System.getProperty("runner.txn.store"));
    site.put("hive.txn.manager", "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager");
    site.put("hive.support.concurrency", "true");
    site.put("hive.compactor.cleaner.on", "false");
    site.put("hive.compactor.initiator.on", "false");
    site.put("hive.lock.sleep.between.retries", "1s");
    site.put("hive.lock.numretries", "3");
    site.put("hive.exec.dynamic.partition.mode", "nonstrict");
    // Rows come from the files: neither statistics nor earlier answers stand in for them.
    site.put("hive.stats.autogather", "false");
    site.put("hive.stats.column.autogather", "false");
    site.put("hive.compute.query.using.stats", "false");
    site.put("hive.query.results.cache.enabled", "false");
    site.put("hive.server2.materializedviews.registry.impl", "DUMMY");
    site.put("hive.resultset.use.unique.column.names", "false");
    site.put("list.sink.output.formatter", "org.apache.hadoop.hive.serde2.thrift.ThriftFormatter");
    // Jobs in this process, small. Tez 0.9 hangs now and then this way, so Hive 3 uses MapReduce.
    site.put("hive.execution.engine", System.getProperty("runner.engine"));
    site.put("mapreduce.framework.name", "local");
    site.put("mapreduce.map.memory.mb", "512");
    site.put("mapreduce.task.io.sort.mb", "16");
    site.put("tez.local.mode", "true");
    site.put("tez.ignore.lib.uris", "true");
    site.put("tez.runtime.optimize.local.fetch", "true");
    site.put("tez.runtime.io.sort.mb", "16");
    site.put("tez.runtime.unordered.output.buffer.size-mb", "16");
    site.put("tez.am.inline.task.execution.max-tasks", "8");
    site.put("tez.am.task.max.failed.attempts", "1");
    // Kept from job to job: each new container copies Hive's jar of 80 MB.
    site.put("tez.am.container.idle.release-timeout-min.millis", "600000");
    site.put("tez.am.container.idle.release-timeout-max.millis", "900000");
    site.put("hive.tez.container.size", "512");
    site.put("hive.tez.auto.reducer.parallelism", "false");
    site.put("hive.auto.convert.join", "false");
    // Jobs end within a fraction of a second: ask for their end more often than once in one.
    site.put("hive.exec.counters.pull.interval", "20");
    site.put("mapreduce.client.completion.pollinterval", "20");
    site.put("mapreduce.client.progressmonitor.pollinterval", "20");
    site.put("hive.tez.dag.status.check.interval", "20ms");
    site.put("tez.task.get-task.sleep.interval-ms.max", "20");
    site.put("tez.task.am.heartbeat.interval-ms.max", "20");
    StringBuilder xml = new StringBuilder("<configuration>\n");
    site.forEach((key, value) -> xml.append("<property><name>").append(key)
        .append("</name><value>").append(value).append("</value></property>\n"));
    Path conf = Paths.get(System.getProperty("runner.conf"));
    Files.write(conf.resolve("hive-site.xml"),
        xml.append("</configuration>\n").toString().getBytes(StandardCharsets.UTF_8));
    Path scratch = Files.createDirectories(home.resolve("scratch"));
    scratch.toFile().setWritable(true, false);  // Hive refuses one that not everybody may write
  }

  /** Serves the metastore over Thrift; returns when it listens. */
  static void serve(int port, HiveConf conf) throws Exception {
    Thread server = new Thread(() -> {
      try {
        HiveMetaStore.startMetaStore(port, HadoopThriftAuthBridge.getBridge(), new HiveConf(conf));
      } catch (Throwable error) {
        error.printStackTrace();
        Runtime.getRuntime().halt(2);
      }
    }, "metastore");
    server.setDaemon(true);
    server.start();
    while (true) {
      try (Socket listening = new Socket("127.0.0.1", port)) {
        return;
      } catch (IOException notYet) {
        Thread.sleep(100);
      }
    }
  }

  private static void createSchema(String database) throws Exception {
    try (Connection connection = DriverManager.getConnection(database + ";create=true");
        Statement statement = connection.createStatement()) {
      runScript(statement, Paths.get(System.getProperty("runner.schema")));
    }
    try {
      DriverManager.getConnection(database + ";shutdown=true");
    } catch (SQLException shutDown) {
      return;  // Derby reports its end this way
    }
  }

  private static void runScript(Statement statement, Path script) throws Exception {
    String text = new String(Files.readAllBytes(script), StandardCharsets.UTF_8);
    Matcher pieces = PIECE.matcher(text);
    while (pieces.find()) {
      String sql = pieces.group(1) == null ? "" : pieces.group(1).trim();
      if (sql.toUpperCase().startsWith("RUN ")) {
        runScript(statement, script.resolveSibling(sql.substring(4).trim().replace("'", "")));
      } else if (!sql.isEmpty()) {
        statement.execute(sql);
      }
    }
  }

  private static void copy(Path from, Path to) throws IOException {
    try (Stream<Path> paths = Files.walk(from)) {
      for (Path path : (Iterable<Path>) paths::iterator) {
        Files.copy(path, to.resolve(from.relativize(path).toString()));
      }
    }
  }
}
