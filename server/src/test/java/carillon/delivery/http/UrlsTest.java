package carillon.delivery.http;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.target.AddressRules;
import carillon.model.target.HttpTargetRules;
import carillon.model.target.TargetUrl;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class UrlsTest {

  private final Urls urls = new Urls(new HttpTargetRules(AddressRules.PUBLIC_ONLY));

  @Test
  void a_repeated_url_is_not_parsed_again() {
    String text = "https://example.com/hook?a=1";
    TargetUrl first = urls.allowed(text);

    assertThat(first).isEqualTo(TargetUrl.parse(text).orElseThrow());
    assertThat(urls.allowed(String.join("=", "https://example.com/hook?a", "1"))).isSameAs(first);
    assertThat(urls.allowed("https://example.com/hook?a=2")).isNotEqualTo(first);
  }

  @Test
  void a_rejected_url_is_rejected_each_time() {
    assertThat(urls.allowed("http://10.0.0.1/")).isNull();
    assertThat(urls.allowed("http://10.0.0.1/")).isNull();
    assertThat(urls.allowed("no url")).isNull();
  }

  @Test
  void the_cache_is_bounded() {
    TargetUrl first = urls.allowed("https://example.com/0");

    IntStream.range(1, 5_000)
        .mapToObj(i -> "https://example.com/" + i)
        .forEach(
            url -> assertThat(urls.allowed(url)).isEqualTo(TargetUrl.parse(url).orElseThrow()));

    assertThat(urls.allowed("https://example.com/0")).isEqualTo(first).isNotSameAs(first);
  }
}
