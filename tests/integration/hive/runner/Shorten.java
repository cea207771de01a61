import java.io.File;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import java.util.zip.ZipFile;

import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;
import org.w3c.dom.Document;
import org.w3c.dom.NodeList;

/**
 * Hadoop's default settings without their descriptions. Usage: Shorten LIB OUT.
 *
 * Hadoop reads these files many times in one statement, and most of each is descriptions.
 */
class Shorten {
  private static final List<String> FILES =
      List.of("core-default.xml", "hdfs-default.xml", "mapred-default.xml", "yarn-default.xml");

  public static void main(String[] args) throws Exception {
    for (File jar : new File(args[0]).listFiles((directory, name) -> name.startsWith("hadoop-"))) {
      try (ZipFile content = new ZipFile(jar)) {
        for (String file : FILES) {
          if (content.getEntry(file) != null) {
            shorten(content, file, Paths.get(args[1]).resolve(file));
          }
        }
      }
    }
  }

  private static void shorten(ZipFile jar, String file, Path out) throws Exception {
    Document settings = DocumentBuilderFactory.newInstance().newDocumentBuilder()
        .parse(jar.getInputStream(jar.getEntry(file)));
    NodeList descriptions = settings.getElementsByTagName("description");
    while (descriptions.getLength() > 0) {
      descriptions.item(0).getParentNode().removeChild(descriptions.item(0));
    }
    TransformerFactory.newInstance().newTransformer()
        .transform(new DOMSource(settings), new StreamResult(out.toFile()));
  }
}
