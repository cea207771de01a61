import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;

import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.IMetaStoreClient;
import org.apache.hadoop.hive.metastore.txn.TxnUtils;
import org.apache.hadoop.hive.ql.metadata.Hive;

/**
 * What SQL cannot say.
 *
 * <pre>
 * allocate TABLE commit|abort    a transaction with a write id of the table, then its end
 * allocate TABLE open NAME       the same, left open until "commit NAME" or "abort NAME"
 * snapshot [TABLE]               the valid txn list of now, and the table's valid write id list
 * partition TABLE NAME           adds a partition by its name, without a write id
 * advance TXN                    commits empty transactions until ids have reached TXN
 * initiator, worker, cleaner     one round of the compactor's threads
 * housekeeper SECONDS            aborts what had no heartbeat for so long
 * count                          counts the open transactions, for hive.max.open.txns
 * hold NAME STATEMENT            runs it in a session of its own up to where it has its locks
 * release NAME                   lets it go on, and answers what it does
 * stream TABLE SIZE commit|abort RECORDS …   Hive 3: a streaming batch (hive3/Streams.java)
 * ingest TABLE SIZE RECORDS FILE   Hive 3: the lines of a file, RECORDS in each transaction
 * conf KEY VALUE                 a setting that SET does not let through
 * </pre>
 */
class Verbs {
  private static final Map<String, Long> open = new HashMap<>();

  static List<String> run(String line) throws Throwable {
    String[] words = line.split(" ", 3);
    IMetaStoreClient client = Hive.get(Runner.conf).getMSC();
    switch (words[0]) {
      case "allocate":
        return allocate(client, words);
      case "commit":
        client.commitTxn(open.remove(words[1]));
        return Collections.emptyList();
      case "abort":
        client.rollbackTxn(open.remove(words[1]));
        return Collections.emptyList();
      case "snapshot": {
        List<String> answer = new ArrayList<>();
        answer.add(Rows.text(client.getValidTxns().toString()));
        if (words.length > 1) {
          answer.add(Rows.text(client.getValidWriteIds(words[1]).toString()));
        }
        return answer;
      }
      case "partition": {
        String[] table = words[1].split("\\.");
        client.appendPartition(table[0], table[1], words[2]);
        return Collections.emptyList();
      }
      case "advance":
        while (client.getValidTxns().getHighWatermark() < Long.parseLong(words[1])) {
          client.commitTxn(client.openTxn("runner"));
        }
        return Collections.emptyList();
      case "initiator":
        oneRound("Initiator");
        return Collections.emptyList();
      case "worker":
        oneRound("Worker");
        return Collections.emptyList();
      case "cleaner":
        oneRound("Cleaner");
        return Collections.emptyList();
      case "housekeeper":
        timeOut(words[1] + "s");
        return Collections.emptyList();
      case "count":
        TxnUtils.getTxnStore(new HiveConf(Runner.conf)).countOpenTxns();
        return Collections.emptyList();
      case "hold":
        Held.hold(words[1], words[2]);
        return Collections.emptyList();
      case "release":
        return Held.release(words[1]);
      case "stream": {
        String[] rest = words[2].split(" ");
        Class.forName("Streams")
            .getDeclaredMethod("run", String.class, int.class, String[].class)
            .invoke(null, words[1], Integer.parseInt(rest[0]),
                Arrays.copyOfRange(rest, 1, rest.length));
        return Collections.emptyList();
      }
      case "ingest": {
        String[] rest = words[2].split(" ", 3);
        Class.forName("Streams")
            .getDeclaredMethod("ingest", String.class, int.class, int.class, String.class)
            .invoke(null, words[1], Integer.parseInt(rest[0]), Integer.parseInt(rest[1]), rest[2]);
        return Collections.emptyList();
      }
      case "conf":
        Runner.conf.set(words[1], words[2]);
        return Collections.emptyList();
      default:
        throw new IllegalArgumentException("no verb: " + words[0]);
    }
  }

  private static List<String> allocate(IMetaStoreClient client, String[] words) throws Exception {
    String[] table = words[1].split("\\.");
    long txn = client.openTxn("runner");
    long writeId = client.allocateTableWriteId(txn, table[0], table[1]);
    switch (words[2]) {
      case "commit":
        client.commitTxn(txn);
        break;
      case "abort":
        client.rollbackTxn(txn);
        break;
      default:
        open.put(words[2].substring("open ".length()), txn);
    }
    return Collections.singletonList("{\"txn\":" + txn + ",\"write_id\":" + writeId + "}");
  }

  private static void timeOut(String timeout) {
    HiveConf impatient = new HiveConf(Runner.conf);
    impatient.set("hive.txn.timeout", timeout);
    impatient.set("metastore.txn.timeout", timeout);
    try {
      TxnUtils.getTxnStore(impatient).performTimeOuts();
    } finally {
      TxnUtils.getTxnStore(new HiveConf(Runner.conf));  // the time-out may be one of the process
    }
  }

  /** One turn of a thread's loop: it is told to stop before it starts. */
  private static void oneRound(String name) throws Exception {
    Class<?> type = Class.forName("org.apache.hadoop.hive.ql.txn.compactor." + name);
    Object thread = type.getDeclaredConstructor().newInstance();
    for (Method method : type.getMethods()) {
      if (method.getName().equals("setConf")) {
        method.invoke(thread, new HiveConf(Runner.conf));
      } else if (method.getName().equals("setThreadId")) {  // Hive 3
        method.invoke(thread, (int) ((Thread) thread).getId());
      }
    }
    AtomicBoolean stop = new AtomicBoolean(true);
    try {
      type.getMethod("init", AtomicBoolean.class).invoke(thread, stop);
    } catch (NoSuchMethodException hive3) {
      type.getMethod("init", AtomicBoolean.class, AtomicBoolean.class)
          .invoke(thread, stop, new AtomicBoolean());
    }
    type.getMethod("run").invoke(thread);
  }
}
