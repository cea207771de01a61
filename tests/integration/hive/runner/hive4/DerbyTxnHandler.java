package org.apache.hadoop.hive.metastore.txn;

import org.apache.hadoop.hive.metastore.api.CheckLockRequest;
import org.apache.hadoop.hive.metastore.api.LockResponse;
import org.apache.hadoop.hive.metastore.api.MetaException;
import org.apache.hadoop.hive.metastore.api.NoSuchLockException;
import org.apache.hadoop.hive.metastore.api.NoSuchTxnException;
import org.apache.hadoop.hive.metastore.api.TxnAbortedException;

/**
 * Hive 4's transaction tables, without its deadlock over Derby.
 *
 * Over Derby every verb first takes one lock of the process. check_lock alone locks rows before it asks for that
 * lock. A commit in between holds the lock and waits for the rows, and both stand still for ten minutes. Other
 * databases have no such lock. Here check_lock takes the lock first, as the other verbs do.
 */
public class DerbyTxnHandler extends CompactionTxnHandler {
  @Override
  public LockResponse checkLock(CheckLockRequest request)
      throws NoSuchTxnException, NoSuchLockException, TxnAbortedException, MetaException {
    dbProduct.lockInternal();
    try {
      return super.checkLock(request);
    } finally {
      dbProduct.unlockInternal();
    }
  }
}
