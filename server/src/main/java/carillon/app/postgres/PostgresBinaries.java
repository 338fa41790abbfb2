package carillon.app.postgres;

import carillon.app.config.PrivateFiles;
import carillon.cli.CommandFailed;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.JarURLConnection;
import java.net.URL;
import java.net.URLConnection;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Locale;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.tukaani.xz.XZInputStream;

/** Unpacks the PostgreSQL that travels in our jars, once for each version. */
final class PostgresBinaries {

  private PostgresBinaries() {}

  /**
   * The unpacked binaries below {@code cache}: a directory with {@code bin}, {@code lib} and {@code
   * share}.
   */
  static Path in(Path cache) throws IOException {
    String platform = platform();
    URL archive = PostgresBinaries.class.getResource("/postgres-" + platform + ".txz");
    if (archive == null) {
      throw new CommandFailed(
          "there is no embedded PostgreSQL for "
              + platform
              + "; give an existing one with --database-url");
    }
    Path home = cache.resolve(platform + "-" + fingerprint(archive));
    if (!Files.isExecutable(home.resolve("bin/postgres"))) {
      unpack(archive, cache, home);
    }
    return home;
  }

  private static String platform() {
    String os = System.getProperty("os.name").toLowerCase(Locale.ROOT);
    String cpu = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
    return (os.startsWith("mac") ? "darwin" : os)
        + "-"
        + switch (cpu) {
          case "amd64", "x86_64" -> "x86_64";
          case "aarch64", "arm64" -> "arm_64";
          default -> cpu;
        };
  }

  /** Changes with the archive's content, and is known without reading it. */
  private static String fingerprint(URL archive) throws IOException {
    URLConnection connection = archive.openConnection();
    return connection instanceof JarURLConnection jar
        ? Long.toHexString(jar.getJarEntry().getCrc())
        : Long.toHexString(connection.getContentLengthLong());
  }

  /** Unpacks under another name and renames, so that the final directory is always complete. */
  private static void unpack(URL archive, Path cache, Path home) throws IOException {
    Files.createDirectories(cache);
    PrivateFiles.deleteTree(home); // something removed a part of it
    Path draft = Files.createTempDirectory(cache, "unpacking");
    try (InputStream packed = new BufferedInputStream(archive.openStream(), 1 << 16);
        TarArchiveInputStream tar = new TarArchiveInputStream(new XZInputStream(packed))) {
      for (TarArchiveEntry entry = tar.getNextEntry(); entry != null; entry = tar.getNextEntry()) {
        extract(tar, entry, draft);
      }
    }
    Files.setPosixFilePermissions(draft, PosixFilePermissions.fromString("rwxr-xr-x"));
    try {
      Files.move(draft, home, StandardCopyOption.ATOMIC_MOVE);
    } catch (FileSystemException e) { // another process was faster
      PrivateFiles.deleteTree(draft);
      if (!Files.isExecutable(home.resolve("bin/postgres"))) {
        throw e;
      }
    }
  }

  private static void extract(TarArchiveInputStream tar, TarArchiveEntry entry, Path root)
      throws IOException {
    Path path = entry.resolveIn(root);
    if (entry.isDirectory()) {
      Files.createDirectories(path);
      return;
    }
    Files.createDirectories(path.resolveSibling("."));
    if (entry.isSymbolicLink()) {
      Files.createSymbolicLink(path, Path.of(entry.getLinkName()));
    } else if (entry.isLink()) {
      Files.createLink(path, root.resolve(entry.getLinkName()));
    } else {
      Files.copy(tar, path);
      boolean executable = (entry.getMode() & 0100) != 0;
      Files.setPosixFilePermissions(
          path, PosixFilePermissions.fromString(executable ? "rwxr-xr-x" : "rw-r--r--"));
    }
  }
}
