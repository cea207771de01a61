package org.apache.hadoop.hive.ql.exec;

import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.plan.BaseWork;

/**
 * The plans that the tasks of a Hive job have read, one map for each thread.
 *
 * Hive keeps one map for each process, because Tez runs one task at a time in a process. In Tez's local mode, tasks of
 * a job run beside each other in one process. With one map, they ran one tree of operators together: the task that
 * ended first closed the file into which the other one still wrote.
 */
public class GlobalWorkMapFactory {
  private final ThreadLocal<Map<Path, BaseWork>> plans = ThreadLocal.withInitial(HashMap::new);

  public Map<Path, BaseWork> get(Configuration configuration) {
    return plans.get();
  }
}
