package carillon.api.ui;

import carillon.api.http.Answer;
import carillon.api.http.Call;
import carillon.model.KeyText;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.zip.GZIPOutputStream;
import org.jspecify.annotations.Nullable;

/** A file of the dashboard: read and compressed once, at the first request. */
final class UiFile {

  private final String resource;
  private final String contentType;
  private volatile @Nullable Ready ready;

  UiFile(String resource, String contentType) {
    this.resource = resource;
    this.contentType = contentType;
  }

  private record Ready(Form plain, Form compressed) {}

  private record Form(String tag, Answer full, Answer notModified) {}

  Answer answer(Call call) {
    Ready found = ready;
    if (found == null) {
      found = load(); // two concurrent requests load the same
      ready = found;
    }
    Form form = call.accepts("gzip") ? found.compressed() : found.plain();
    return call.matchesETag(form.tag()) ? form.notModified() : form.full();
  }

  private Ready load() {
    byte[] bytes = read(resource);
    String hash = HexFormat.of().formatHex(KeyText.sha256().digest(bytes), 0, 12);
    return new Ready(
        form(bytes, "\"" + hash + "\"", Map.of()),
        form(compressed(bytes), "\"" + hash + "-gzip\"", Map.of("Content-Encoding", "gzip")));
  }

  private Form form(byte[] bytes, String tag, Map<String, String> encoding) {
    Map<String, String> headers = new LinkedHashMap<>();
    headers.put("ETag", tag);
    headers.put("Cache-Control", "no-cache");
    headers.put("Vary", "Accept-Encoding");
    Answer notModified = new Answer(304, contentType, "", headers);
    headers.putAll(encoding);
    Answer full =
        new Answer(200, contentType, "", headers).written(response -> response.send(bytes));
    return new Form(tag, full, notModified);
  }

  private static byte[] compressed(byte[] bytes) {
    var compressed = new ByteArrayOutputStream(bytes.length / 2);
    try (var gzip = new GZIPOutputStream(compressed)) {
      gzip.write(bytes);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return compressed.toByteArray();
  }

  static byte[] read(String resource) {
    try (InputStream in = UiFile.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new IllegalStateException("missing resource " + resource);
      }
      return in.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
