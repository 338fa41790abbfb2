package carillon.model.target;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class SentRequestTest {

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Authorization",
        "authorization",
        "Proxy-Authorization",
        "X-Auth",
        "Cookie",
        "Set-Cookie",
        "X-API-Key",
        "apikey",
        "Ocp-Apim-Subscription-Key",
        "X-Access-Token",
        "X-GitLab-TOKEN",
        "Client-Secret",
        "X-Password",
        "X-Passwd",
        "webhook-signature",
        "X-Hub-Signature-256",
        "X-Session-Id",
        "X-Credentials",
        "X-Csrf-Id",
        "X-JWT",
        "X-Webhook-Sig",
        "X-Pass",
        "pw",
        "webhookSig",
        "X-\u212aey" // the Kelvin sign equals k if case is ignored
      })
  void the_value_of_a_header_that_looks_secret_is_hidden(String name) {
    String text = new SentRequest("POST", "http://a/").header(name, "marker").text();

    assertThat(parsed(text).path("headers").path(name).asString()).isEqualTo("(hidden)");
    assertThat(text).doesNotContain("marker");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Content-Type",
        "User-Agent",
        "traceparent",
        "webhook-timestamp",
        "X-Shop",
        "X-Sigma",
        "X-Bypass-Cache",
        "X-Country-Code",
        "X-Shipping",
        "Accept"
      })
  void other_headers_are_shown(String name) {
    String text = new SentRequest("POST", "http://a/").header(name, "value").text();

    assertThat(parsed(text).path("headers").path(name).asString()).isEqualTo("value");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ' ',
      value = {
        "https://a.example/b https://a.example/b",
        "https://a.example https://a.example",
        "https://u:p@a.example/b https://(hidden)@a.example/b",
        "https://u@a.example https://(hidden)@a.example",
        "https://a.example/b@c https://a.example/b@c",
        "https://a.example/b?c=d&e https://a.example/b?c=d&e",
        "https://a.example/?token=x&c=d https://a.example/?token=(hidden)&c=d",
        "https://a.example/?c=d&API_KEY=x=y https://a.example/?c=d&API_KEY=(hidden)",
        "https://a.example?sig=x https://a.example?sig=(hidden)",
        "https://a.example/?%74oken=x https://a.example/?%74oken=(hidden)",
        "https://a.example/?a=b?token=x https://a.example/?a=b?token=x",
        "https://a.example/?&&=x https://a.example/?&&=x",
        "https://a.example/?pw=x https://a.example/?pw=(hidden)",
        "https://a.example/?a=b;token=x https://a.example/?a=b;token=(hidden)",
        "https://a.example/c;token=x/d?e=f https://a.example/c;token=(hidden)/d?e=f",
        "https://a.example/c;a=b;Sig=x?pin=1 https://a.example/c;a=b;Sig=(hidden)?pin=(hidden)",
        "https://a.example/c=d?code=x&zip_code=y https://a.example/c=d?code=(hidden)&zip_code=y",
        "https://a.example/?webhookSig=x&pages=2 https://a.example/?webhookSig=(hidden)&pages=2",
        "https://a.example/?t=a@b https://a.example/?t=a@b",
      })
  void a_url_is_shown_without_user_info_and_secret_parameters(String url, String shown) {
    assertThat(SecretUrl.hidden(url)).isEqualTo(shown);
  }

  @Test
  void any_request_is_described_as_json_that_postgresql_can_store() {
    String odd = "\"\\ \u0000\u0001\r\n\u007f\u0085 <b> \u00e9 \ud83d\ude00";

    String text = new SentRequest("GET", "http://a/").header("X-" + odd, odd).text();

    assertThat(text).doesNotContain("\u0000", "\n", "\u0085");
    assertThat(parsed(text).path("headers").path("X-" + odd).asString()).isEqualTo(odd);
    assertThat(new SentRequest("GET", "http://a/").header("X", "\ud83d!\ude00").text())
        .contains("\ufffd!\ufffd");
  }

  @Test
  void headers_may_be_empty_and_long_values_are_truncated() {
    assertThat(new SentRequest("GET", "http://a/").text())
        .isEqualTo("{\"method\":\"GET\",\"url\":\"http://a/\",\"headers\":{}}");
    assertThat(new SentRequest("GET", "http://a/").header("A", "x".repeat(9_000)).text())
        .hasSizeLessThan(400);
  }

  @Test
  void the_dashboard_has_the_same_secret_names() throws IOException {
    String script = dashboard("/ui/types/target.js");
    Pattern names = expression(script, "SECRET");
    Pattern parameters = expression(script, "SECRET_PARAMETER");

    assertThat(SecretNames.PARTS).allMatch(names.asPredicate());
    assertThat(SecretNames.WORDS).allMatch(names.asPredicate());
    assertThat(SecretNames.PARAMETERS).allMatch(parameters.asPredicate());
    assertThat("Content-Type").doesNotMatch(names.asPredicate());
  }

  private static String dashboard(String file) throws IOException {
    try (InputStream in = SentRequestTest.class.getResourceAsStream(file)) {
      return new String(requireNonNull(in).readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static Pattern expression(String script, String name) {
    Matcher found = Pattern.compile("const " + name + " =\\s+/(.+)/i;").matcher(script);
    assertThat(found.find()).as(name).isTrue();
    return Pattern.compile(found.group(1), Pattern.CASE_INSENSITIVE);
  }

  private static JsonNode parsed(String text) {
    return JsonMapper.shared().readTree(text);
  }
}
