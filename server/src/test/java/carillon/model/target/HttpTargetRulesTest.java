package carillon.model.target;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import carillon.model.target.HttpTargetRules.Problem;
import java.net.InetAddress;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class HttpTargetRulesTest {

  final HttpTargetRules rules = new HttpTargetRules(AddressRules.PUBLIC_ONLY);
  final HttpTargetRules onThisMachine =
      new HttpTargetRules(AddressRules.PUBLIC_ONLY.withLoopback());

  @ParameterizedTest
  @ValueSource(
      strings = {
        "https://example.com",
        "http://example.com/",
        "HTTPS://Example.COM/Path?q=1",
        "https://example.com./x",
        "https://example.com?x=%20",
        "https://example.com:8443/a/b;c=d/@x?y[]=1&z='*'",
        "http://8.8.8.8/",
        "http://[2606:4700:4700::1111]:8080/",
        "http://my_service.example.com/",
        "http://xn--bcher-kva.example/"
      })
  void public_targets_are_accepted(String url) {
    assertThat(rules.check(post(url))).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "jar:http://example.com/a.jar!/b",
        "data:text/plain,x",
        "//example.com/",
        "http:example.com",
        "http:/example.com",
        "http:///x",
        "http://",
        "http://?x",
        "example.com",
        "http://-a.example.com/",
        "http://a-.example.com/",
        "http://a..example.com/",
        "http://.example.com/",
        "http://example.com../",
        "http://exa%6dple.com/",
        "http://example.com:/",
        "http://example.com:x/",
        "http://example.com:123456/",
        "http://a,b.example.com/"
      })
  void a_url_without_a_valid_scheme_or_host_is_rejected(String url) {
    assertThat(codes(rules, url)).containsExactly("scheme_or_host");
  }

  @Test
  void plain_http_is_rejected_if_tls_is_required() {
    var strict = new HttpTargetRules(AddressRules.PUBLIC_ONLY, true, new OwnPorts());

    assertThat(codes(strict, "http://example.com/")).containsExactly("https_required");
    assertThat(codes(strict, "https://example.com/")).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "http://user:pw@example.com/",
        "http://user@example.com/",
        "http://@example.com/",
        "http://example.com:80@127.0.0.1/"
      })
  void user_info_is_rejected_and_never_echoed(String url) {
    assertThat(rules.check(post(url)))
        .singleElement()
        .satisfies(problem -> assertThat(problem.code()).isEqualTo("userinfo_not_allowed"))
        .satisfies(problem -> assertThat(problem.message()).doesNotContain("pw"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"http://127.0.0.1#@evil.example/", "https://example.com/#x"})
  void fragments_are_rejected(String url) {
    assertThat(codes(rules, url)).containsExactly("fragment_not_allowed");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "http://evil.example\\@127.0.0.1/",
        "http://example.com\\x",
        "http://exam\tple.com/",
        "http://example.com/\n",
        "http://example.com/\r\nHost: x",
        "http://example.com/a b",
        " http://example.com/",
        "http://example.com/\u0000",
        "http://example.com/\u007f",
        "http://b\u00fccher.example/",
        "http://ex\uff41mple.com/",
        "http://example.com/\u00e9",
        "http://example.com/<x>",
        "http://example.com/{{x}}",
        "http://example.com/%zz",
        "http://example.com/%4"
      })
  void ambiguous_characters_are_rejected(String url) {
    assertThat(codes(rules, url)).containsExactly("invalid_url");
  }

  @Test
  void long_urls_are_rejected() {
    String start = "https://example.com/";

    assertThat(codes(rules, start + "x".repeat(2048 - start.length()))).isEmpty();
    assertThat(codes(rules, start + "x".repeat(2049 - start.length())))
        .containsExactly("url_too_long");
    assertThat(codes(rules, start + "%41".repeat(676))).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      ints = {
        0, 1, 22, 25, 79, 81, 442, 444, 1023, 2375, 2379, 3306, 5432, 5672, 6379, 9092, 11211,
        27017, 65536, 99999
      })
  void ports_of_other_protocols_are_rejected(int port) {
    assertThat(codes(rules, "https://example.com:" + port + "/"))
        .containsExactly("port_not_allowed");
  }

  @ParameterizedTest
  @ValueSource(ints = {80, 443, 1024, 8080, 8443, 65535})
  void http_ports_are_accepted(int port) {
    assertThat(codes(rules, "https://example.com:" + port + "/")).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0",
        "0.0.0.0",
        "0x7f.1",
        "0x7f000001",
        "0X7F.0.0.1",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.1.",
        "127.1.",
        "[::]",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:0:0:1]",
        "[::127.0.0.1]",
        "[fe80::1]",
        "[fe80::1%25eth0]",
        "[fe80::1%eth0]",
        "[::1%251]",
        "10.0.0.5",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "192.0.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "192.88.99.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "[fc00::1]",
        "[fec0::1]",
        "[ff02::1]",
        "[64:ff9b::a00:5]",
        "[64:ff9b:1::1]",
        "[2002:a00:5::1]",
        "[2001::1]",
        "[2001:db8::1]",
        "[3fff::1]",
        "[100::1]",
        "[5f00::1]",
        "256.256.256.256",
        "1.2.3.4.5",
        "08.8.8.8",
        "example.0x1",
        "[localhost]",
        "[dead]",
        "[8.8.8.8]",
        "[2606:4700::1.]",
        "[:::]",
        "[]"
      })
  void non_public_addresses_are_rejected_in_every_notation(String host) {
    assertThat(codes(rules, "http://" + host + "/")).containsExactly("address_not_allowed");
    assertThat(codes(rules, "http://" + host + ":8080/x")).containsExactly("address_not_allowed");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "localhost",
        "localhost.",
        "LOCALHOST",
        "a.localhost",
        "a.localhost.",
        "x.internal",
        "metadata.google.internal",
        "METADATA.google.Internal.",
        "printer.local",
        "nas.lan",
        "router.home.arpa",
        "intranet",
        "postgres",
        "com"
      })
  void local_names_are_rejected(String host) {
    assertThat(codes(rules, "http://" + host + "/")).containsExactly("address_not_allowed");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "http://localhost:8080/",
        "http://localhost./",
        "http://a.localhost:3000/",
        "http://127.0.0.1:3000/",
        "https://[::1]:1024/",
        "http://[::ffff:127.0.0.1]/"
      })
  void allowing_loopback_allows_http_ports_of_this_machine(String url) {
    assertThat(codes(onThisMachine, url)).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "http://LOCALHOST:5432/",
        "http://a.localhost:9092/",
        "http://127.0.0.1:6379/",
        "http://[::ffff:127.0.0.1]:5432/",
        "http://10.0.0.5:5432/"
      })
  void allowing_a_range_does_not_allow_ports_of_databases_and_brokers(String url) {
    var ranges =
        new HttpTargetRules(AddressRules.of(List.of("127.0.0.0/8", "::1/128", "10.0.0.0/8")));

    assertThat(codes(ranges, url)).containsExactly("port_not_allowed");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "http://LOCALHOST:5432/",
        "http://127.0.0.1:6379/",
        "http://10.0.0.5:5432/",
        "http://[::ffff:127.0.0.1]:8080/",
        "http://127.0.0.1:8080/"
      })
  void an_allowed_address_may_be_used_with_any_high_port(String url) {
    var named = rulesOfNode(AddressRules.of(List.of("127.0.0.1", "10.0.0.5")), 8080);

    assertThat(codes(named, url)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "http://127.0.0.1:18990/metrics, 127.0.0.1",
    "http://127.3.2.1:18990/, 127.3.2.1",
    "http://localhost:18990/, 127.0.0.1",
    "http://[::1]:18990/, ::1",
    "http://[::ffff:127.0.0.1]:18990/, 127.0.0.1"
  })
  void allowing_a_range_does_not_allow_the_ports_of_this_node(String url, String address) {
    var nodeRules = rulesOfNode(AddressRules.PUBLIC_ONLY.withLoopback(), 18990);

    assertThat(codes(nodeRules, url)).containsExactly("port_not_allowed");
    assertThat(
            nodeRules.mayDial(TargetUrl.parse(url).orElseThrow(), InetAddress.ofLiteral(address)))
        .isFalse();
    assertThat(codes(nodeRules, url.replace("18990", "18991"))).isEmpty();
  }

  @Test
  void a_name_that_resolves_to_loopback_does_not_reach_this_node() {
    var nodeRules = rulesOfNode(AddressRules.PUBLIC_ONLY.withLoopback(), 18990);
    var url = TargetUrl.parse("http://loop.example.com:18990/").orElseThrow();

    assertThat(nodeRules.mayDial(url, InetAddress.ofLiteral("127.0.0.1"))).isFalse();
    assertThat(nodeRules.mayDial(url, InetAddress.ofLiteral("8.8.8.8"))).isTrue();
  }

  private static HttpTargetRules rulesOfNode(AddressRules addresses, int port) {
    var ports = new OwnPorts();
    ports.add(port);
    return new HttpTargetRules(addresses, false, ports);
  }

  @ParameterizedTest
  @CsvSource({
    "http://localhost:22/, port_not_allowed",
    "http://127.0.0.1:0/, port_not_allowed",
    "http://127.1/, address_not_allowed",
    "http://0/, address_not_allowed",
    "http://10.0.0.5/, address_not_allowed",
    "http://[::]/, address_not_allowed",
    "http://intranet/, address_not_allowed",
    "http://x.internal/, address_not_allowed",
    "http://example.com:5432/, port_not_allowed"
  })
  void allowing_loopback_allows_nothing_else(String url, String code) {
    assertThat(codes(onThisMachine, url)).containsExactly(code);
  }

  @Test
  void an_allowed_host_may_be_local_and_use_any_high_port() {
    var allowing = new HttpTargetRules(AddressRules.of(List.of("billing", "crm.internal")));

    assertThat(codes(allowing, "http://billing:5432/")).isEmpty();
    assertThat(codes(allowing, "http://CRM.internal./")).isEmpty();
    assertThat(codes(allowing, "http://billing:25/")).containsExactly("port_not_allowed");
    assertThat(codes(allowing, "http://other.internal/")).containsExactly("address_not_allowed");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Host",
        "content-length",
        "Transfer-Encoding",
        "Connection",
        "TE",
        "Trailer",
        "Upgrade",
        "Expect",
        "Proxy-Authorization",
        "proxy-connection",
        "Keep-Alive",
        "webhook-id",
        "Webhook-Signature",
        "webhook-anything",
        "Carillon-Attempt",
        "carillon-x",
        "traceparent",
        "X-Amz-Target",
        "x-goog-api-key",
        "Metadata-Flavor",
        "metadata",
        "Metadata-Token",
        "metadata-flavour",
        "X-aws-ec2-metadata-token",
        "X-aws-ec2-metadata-token-ttl-seconds",
        "x-ms-version",
        "X-MS-Agent-Name",
        "X-Google-Metadata-Request",
        "X-IDENTITY-HEADER",
        "X-aliyun-ecs-metadata-token",
        "Accept-Encoding"
      })
  void reserved_headers_are_rejected(String name) {
    assertThat(rules.check(withHeaders(Map.of(name, "x"))))
        .extracting(Problem::field, Problem::code)
        .containsExactly(tuple("headers/" + name, "reserved_header"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "a b", "a:", ":a", "a\r\nb", "a\u0000", "\u00e4", "a\t", "a(b)", "a\"b"})
  void invalid_header_names_are_rejected(String name) {
    assertThat(rules.check(withHeaders(Map.of(name, "x"))))
        .extracting(Problem::code)
        .containsExactly("invalid_header");
  }

  @ParameterizedTest
  @ValueSource(strings = {"a\rb", "a\nb", "a\r\nEvil: 1", "a\u0000", "\u00e4", "\u007f", "\u2028"})
  void header_values_with_control_or_non_ascii_characters_are_rejected(String value) {
    assertThat(rules.check(withHeaders(Map.of("X-Name", value))))
        .singleElement()
        .satisfies(problem -> assertThat(problem.field()).isEqualTo("headers/X-Name"))
        .satisfies(problem -> assertThat(problem.code()).isEqualTo("invalid_header"))
        .satisfies(problem -> assertThat(problem.message()).matches("[ -~]+"));
  }

  @Test
  void ordinary_headers_are_accepted() {
    var headers =
        Map.of(
            "Authorization", "Bearer abc",
            "X-Name", "a\tb ~",
            "Content-Type", "application/cloudevents+json",
            "X-Empty", "");

    assertThat(rules.check(withHeaders(headers))).isEmpty();
  }

  @Test
  void a_header_that_differs_only_in_case_is_a_duplicate() {
    assertThat(rules.check(withHeaders(Map.of("X-Name", "1", "x-name", "2"))))
        .extracting(Problem::code)
        .containsExactly("invalid_header");
  }

  @Test
  void headers_are_limited_to_fifty_and_eight_kilobytes() {
    assertThat(rules.check(withHeaders(headers(50, 10)))).isEmpty();
    assertThat(rules.check(withHeaders(headers(51, 10))))
        .extracting(Problem::code)
        .containsExactly("too_many_headers");
    assertThat(rules.check(withHeaders(headers(40, 200))))
        .extracting(Problem::code)
        .containsExactly("headers_too_large");
  }

  @ParameterizedTest
  @ValueSource(strings = {"POST", "PUT", "PATCH", "GET", "DELETE"})
  void common_methods_are_accepted(String method) {
    assertThat(rules.check(target("https://example.com/", method, null, null))).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"CONNECT", "TRACE", "HEAD", "OPTIONS", "get", "Post", "FOO", "", "GET /\r\n"})
  void other_methods_are_rejected(String method) {
    assertThat(rules.check(target("https://example.com/", method, null, null)))
        .extracting(Problem::field, Problem::code)
        .containsExactly(tuple("method", "invalid_method"));
  }

  @Test
  void a_method_without_a_body_rejects_one() {
    assertThat(rules.check(target("https://example.com/", "GET", "{}", null)))
        .extracting(Problem::field, Problem::code)
        .containsExactly(tuple("body", "body_not_allowed"));
    assertThat(rules.check(target("https://example.com/", "POST", "{}", null))).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({"PT1S, true", "PT30M, true", "PT0.999S, false", "PT30M0.001S, false", "PT-1S, false"})
  void timeouts_are_from_a_second_to_half_an_hour(Duration timeout, boolean valid) {
    assertThat(rules.check(target("https://example.com/", "POST", null, timeout)).isEmpty())
        .isEqualTo(valid);
  }

  @Test
  void every_problem_is_reported_at_once() {
    var target =
        new Target.Http("http://10.0.0.1/", "FOO", Map.of("Host", "x"), null, Duration.ofMillis(1));

    assertThat(rules.check(target))
        .extracting(Problem::field)
        .containsExactly("url", "method", "headers/Host", "timeout");
  }

  @Test
  void echoed_text_is_short_and_printable() {
    String method = "\u001b[31m\u00e4\n".repeat(40);

    Problem problem = rules.check(target("https://example.com/", method, null, null)).getFirst();

    assertThat(problem.message()).matches("[ -~]+").startsWith("\"\\u001b[31m\\u00e4\\u000a");
    assertThat(problem.message().substring(1, problem.message().lastIndexOf('"')))
        .hasSizeLessThanOrEqualTo(64)
        .endsWith("...");
  }

  private static List<String> codes(HttpTargetRules rules, String url) {
    return rules.check(post(url)).stream().map(Problem::code).toList();
  }

  private static Target.Http post(String url) {
    return target(url, "POST", null, null);
  }

  private static Target.Http withHeaders(Map<String, String> headers) {
    return new Target.Http("https://example.com/", "POST", headers, null, null);
  }

  private static Target.Http target(
      String url, String method, @Nullable String body, @Nullable Duration timeout) {
    return new Target.Http(url, method, Map.of(), body, timeout);
  }

  private static Map<String, String> headers(int count, int length) {
    Map<String, String> headers = new HashMap<>();
    for (int i = 0; i < count; i++) {
      headers.put("X-" + i, "v".repeat(length));
    }
    return headers;
  }
}
