package org.apache.hadoop.hive.ql.exec.tez;

import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.tez.runtime.api.ObjectRegistry;

/**
 * Hive's cache of plans in a Tez container, which finds the container by the thread.
 *
 * Hive finds the container's registry by a static field. In Tez's local mode, containers run beside each other in one
 * process, so two tasks that begin at the same moment could share a plan, as in {@code GlobalWorkMapFactory}.
 */
public class ObjectCache implements org.apache.hadoop.hive.ql.exec.ObjectCache {
  private static final ThreadLocal<ObjectRegistry> REGISTRIES = new ThreadLocal<>();
  private final ObjectRegistry registry = REGISTRIES.get();

  public static boolean isObjectRegistryConfigured() {
    return REGISTRIES.get() != null;
  }

  public static void setupObjectRegistry(ObjectRegistry registry) {
    REGISTRIES.set(registry);
  }

  public static void close() {}

  @Override
  public void release(String key) {}

  @Override
  @SuppressWarnings("unchecked")
  public <T> T retrieve(String key) {
    return (T) registry.get(key);
  }

  @Override
  public <T> T retrieve(String key, Callable<T> make) throws HiveException {
    T kept = retrieve(key);
    if (kept != null) {
      return kept;
    }
    try {
      T made = make.call();
      registry.cacheForVertex(key, made);
      return made;
    } catch (Exception error) {
      throw new HiveException(error);
    }
  }

  @Override
  public <T> Future<T> retrieveAsync(String key, Callable<T> make) {
    FutureTask<T> task = new FutureTask<>(() -> retrieve(key, make));
    task.run();
    return task;
  }

  @Override
  public void remove(String key) {
    registry.delete(key);
  }
}
