package carillon.testkit;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Creates self-signed certificates for test servers, and truststores for their clients. */
public final class TestCertificates {

  public static final String PASSWORD = "changeit";

  private TestCertificates() {}

  /** A TLS context with a new certificate for the given host, which it also trusts. */
  public static SSLContext selfSigned(Path directory, String host) {
    Path file = directory.resolve(host + ".p12");
    createKey(file, host);
    try (InputStream in = Files.newInputStream(file)) {
      KeyStore store = KeyStore.getInstance("PKCS12");
      store.load(in, PASSWORD.toCharArray());
      var keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
      keys.init(store, PASSWORD.toCharArray());
      KeyStore trusted = KeyStore.getInstance("PKCS12");
      trusted.load(null, null);
      trusted.setCertificateEntry("it", store.getCertificate("it"));
      var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trust.init(trusted);
      SSLContext tls = SSLContext.getInstance("TLS");
      tls.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
      return tls;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * Writes a new certificate for the given host as PEM ({@code HOST-cert.pem}, {@code
   * HOST-key.pem}), and a truststore with it for Java ({@code HOST-trust.p12}).
   */
  public static void pemFor(Path directory, String host) throws IOException {
    Path file = directory.resolve(host + ".p12");
    createKey(file, host);
    try (InputStream in = Files.newInputStream(file)) {
      KeyStore store = KeyStore.getInstance("PKCS12");
      store.load(in, PASSWORD.toCharArray());
      Certificate certificate = store.getCertificate("it");
      Key key = store.getKey("it", PASSWORD.toCharArray());
      writePem(directory.resolve(host + "-cert.pem"), "CERTIFICATE", certificate.getEncoded());
      writePem(directory.resolve(host + "-key.pem"), "PRIVATE KEY", key.getEncoded());
      KeyStore trusted = KeyStore.getInstance("PKCS12");
      trusted.load(null, null);
      trusted.setCertificateEntry("it", certificate);
      try (OutputStream out = Files.newOutputStream(directory.resolve(host + "-trust.p12"))) {
        trusted.store(out, PASSWORD.toCharArray());
      }
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void writePem(Path file, String kind, byte[] content) throws IOException {
    String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content);
    Files.writeString(
        file, "-----BEGIN %1$s-----\n%2$s\n-----END %1$s-----\n".formatted(kind, text));
  }

  private static void createKey(Path file, String host) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
    command.addAll(List.of("-genkeypair", "-alias", "it", "-keyalg", "EC", "-storetype", "PKCS12"));
    command.addAll(List.of("-keystore", file.toString(), "-storepass", PASSWORD));
    command.addAll(List.of("-dname", "CN=" + host, "-ext", "SAN=dns:" + host));
    try {
      Process keytool = new ProcessBuilder(command).redirectErrorStream(true).start();
      String output = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      if (keytool.waitFor() != 0) {
        throw new IllegalStateException("keytool: " + output);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }
}
