import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FsConstants;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's local file system, which asks Java about permissions and links and writes no checksums.
 *
 * Without its native library Hadoop runs chmod, ls or readlink for each: several processes per file
 * and rename, which take a third of a small statement's time. A file `.x.crc` beside each file x is
 * a habit of the local file system alone; HDFS has none.
 */
public class LocalFiles extends LocalFileSystem {
  public LocalFiles() {
    super(new Raw());
    setWriteChecksum(false);
  }

  /** The same for a FileContext, without checksums. */
  public static class Context extends DelegateToFileSystem {
    public Context(URI uri, Configuration conf) throws IOException, URISyntaxException {
      super(FsConstants.LOCAL_FS_URI, new Raw(), conf, FsConstants.LOCAL_FS_URI.getScheme(), false);
    }

    @Override
    public int getUriDefaultPort() {
      return -1;
    }

    @Override
    public boolean isValidName(String source) {
      return true;
    }
  }

  private static class Raw extends RawLocalFileSystem {
    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
      String text = permission.getUserAction().SYMBOL + permission.getGroupAction().SYMBOL
          + permission.getOtherAction().SYMBOL;
      Files.setPosixFilePermissions(
          pathToFile(path).toPath(), PosixFilePermissions.fromString(text));
    }

    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
      return whole(super.getFileStatus(path));
    }

    @Override
    public FileStatus getFileLinkStatus(Path path) throws IOException {
      boolean isLink = Files.isSymbolicLink(pathToFile(path).toPath());
      return isLink ? super.getFileLinkStatus(path) : getFileStatus(path);
    }

    @Override
    public FileStatus[] listStatus(Path path) throws IOException {
      FileStatus[] found = super.listStatus(path);
      for (int i = 0; i < found.length; i++) {
        found[i] = whole(found[i]);
      }
      return found;
    }

    /** One that knows permissions and owners, which Hadoop's own looks up when it is asked. */
    private FileStatus whole(FileStatus status) throws IOException {
      if (status.getClass() == FileStatus.class) {
        return status;
      }
      PosixFileAttributes attributes = Files.readAttributes(
          pathToFile(status.getPath()).toPath(), PosixFileAttributes.class);
      String permissions = PosixFilePermissions.toString(attributes.permissions());
      return new FileStatus(
          status.getLen(), status.isDirectory(), status.getReplication(), status.getBlockSize(),
          status.getModificationTime(), status.getAccessTime(),
          FsPermission.valueOf("-" + permissions), attributes.owner().getName(),
          attributes.group().getName(), status.getPath());
    }
  }
}
