import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The system class loader, over the directories of `runner.path` and the jars in them.
 *
 * Hive 3.1 casts the system class loader to a URLClassLoader, which Java's own no longer is.
 */
public class Boot extends URLClassLoader {
  public Boot(ClassLoader parent) throws MalformedURLException {
    super(urls(), parent);
  }

  private static URL[] urls() throws MalformedURLException {
    List<URL> urls = new ArrayList<>();
    for (String place : System.getProperty("runner.path").split(File.pathSeparator)) {
      File directory = new File(place);
      urls.add(directory.toURI().toURL());
      File[] jars = directory.listFiles((parent, name) -> name.endsWith(".jar"));
      Arrays.sort(jars);
      for (File jar : jars) {
        urls.add(jar.toURI().toURL());
      }
    }
    return urls.toArray(new URL[0]);
  }
}
