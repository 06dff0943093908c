import com.google.gson.JsonParser;
import java.util.Scanner;

/** Does what each line of the input says with the Java of docs/CLIENTS.md: a verb, an order id and a SKU. All lines at once. */
class Drive {
  static final Checkout shop = new Checkout();

  static String work(String verb, String id, String sku) throws InterruptedException {
    if (verb.equals("paid")) return shop.paid(id);
    if (verb.equals("unpaid")) return shop.unpaid(id);
    String order = "{\"order_id\":\"" + id + "\",\"lines\":[{\"sku\":\"" + sku + "\",\"quantity\":1}]}";
    return shop.reserve(JsonParser.parseString(order).getAsJsonObject());
  }

  public static void main(String[] none) {
    for (Scanner in = new Scanner(System.in); in.hasNextLine(); ) {
      String[] words = in.nextLine().split(" ");
      new Thread(() -> {
        try {
          System.out.println(words[0] + " " + words[1] + " " + work(words[0], words[1], words[2]));
        } catch (InterruptedException e) {
          throw new IllegalStateException(e);
        }
      }).start();
    }
  }
}
