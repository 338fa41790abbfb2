package carillon.chaos.cluster;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.JarURLConnection;
import java.net.URL;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Locale;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.tukaani.xz.XZInputStream;

/** Unpacks PostgreSQL from the class path, once. */
final class PostgresBinaries {

  private PostgresBinaries() {}

  /** A directory below {@code cache} with {@code bin}, {@code lib} and {@code share}. */
  static Path in(Path cache) throws IOException {
    String cpu = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
    String platform = cpu.equals("aarch64") ? "linux-arm_64" : "linux-x86_64";
    URL archive = PostgresBinaries.class.getResource("/postgres-" + platform + ".txz");
    if (archive == null) {
      throw new IOException("There is no PostgreSQL for " + platform + " on the class path.");
    }
    long crc = ((JarURLConnection) archive.openConnection()).getJarEntry().getCrc();
    Path home = cache.resolve(platform + "-" + Long.toHexString(crc));
    if (!Files.isExecutable(home.resolve("bin/postgres"))) {
      unpack(archive, cache, home);
    }
    return home;
  }

  /** Unpacks under a temporary name first, so that a directory with the final name is complete. */
  private static void unpack(URL archive, Path cache, Path home) throws IOException {
    Files.createDirectories(cache);
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
    } catch (FileSystemException e) { // another process has unpacked it
      Directories.delete(draft);
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
