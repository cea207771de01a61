import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.hooks.ExecuteWithHookContext;
import org.apache.hadoop.hive.ql.hooks.HookContext;
import org.apache.hadoop.hive.ql.session.SessionState;

/** A statement in a session of its own that stops once it has its locks, until it may go on. */
class Held implements Runnable {
  private static final Map<String, Held> all = new ConcurrentHashMap<>();
  private static final ThreadLocal<Held> current = new ThreadLocal<>();

  private final String sql;
  private final CountDownLatch stopped = new CountDownLatch(1);
  private final CountDownLatch released = new CountDownLatch(1);
  private final Thread thread = new Thread(this, "held");
  private List<String> rows;
  private Throwable error;

  private Held(String sql) {
    this.sql = sql;
  }

  /** Returns when the statement has stopped, or throws what ended it before. */
  static void hold(String name, String sql) throws Throwable {
    Held held = new Held(sql);
    held.thread.setDaemon(true);
    held.thread.start();
    held.stopped.await();
    if (held.error != null) {
      throw held.error;
    }
    all.put(name, held);
  }

  /** Lets it go on; its rows, or what it failed with. */
  static List<String> release(String name) throws Throwable {
    Held held = all.remove(name);
    held.released.countDown();
    held.thread.join();
    if (held.error != null) {
      throw held.error;
    }
    return held.rows;
  }

  @Override
  public void run() {
    current.set(this);
    HiveConf conf = new HiveConf(Runner.conf);
    conf.set("hive.exec.pre.hooks", Stop.class.getName());
    try {
      Runner.start(conf);
      rows = Runner.query(sql, conf);
    } catch (Throwable failed) {
      error = failed;
    } finally {
      stopped.countDown();
      SessionState.detachSession();
    }
  }

  /** Runs before the statement's tasks, when its locks are granted. */
  public static class Stop implements ExecuteWithHookContext {
    @Override
    public void run(HookContext context) throws Exception {
      Held held = current.get();
      held.stopped.countDown();
      held.released.await();
    }
  }
}
