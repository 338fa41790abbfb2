package carillon.model;

/** What of a target may be written where many can read it. */
public final class ShownTarget {

  private ShownTarget() {}

  /** The value of a header, unless its name looks secret. */
  public static String header(String name, String value) {
    return SentRequest.isSecret(name) ? SentRequest.HIDDEN : value;
  }

  /** The URL without the parts of it that look secret. */
  public static String url(String url) {
    return SentRequest.withoutSecrets(url);
  }
}
