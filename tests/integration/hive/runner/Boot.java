import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * The system class loader, over the directories of `runner.path` and the jars in them.
 *
 * Hive 3.1 casts the system class loader to a URLClassLoader, which Java's own no longer is.
 * What is not there is looked for once: Calcite's compiler asks for thousands of such classes with
 * each statement, and to look through three hundred jars takes a tenth of its time.
 */
public class Boot extends URLClassLoader {
  private final Set<String> missing = ConcurrentHashMap.newKeySet();
  private final ConcurrentMap<String, Optional<URL>> resources = new ConcurrentHashMap<>();

  public Boot(ClassLoader parent) throws MalformedURLException {
    super(urls(), parent);
  }

  @Override
  protected Class<?> findClass(String name) throws ClassNotFoundException {
    if (missing.contains(name)) {
      throw new ClassNotFoundException(name);
    }
    try {
      return super.findClass(name);
    } catch (ClassNotFoundException error) {
      missing.add(name);
      throw error;
    }
  }

  @Override
  public URL findResource(String name) {
    Optional<URL> known = resources.get(name);
    if (known == null) {
      known = Optional.ofNullable(super.findResource(name));
      resources.put(name, known);
    }
    return known.orElse(null);
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
