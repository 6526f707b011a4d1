<?php
// Run by any web server, or by: php -S localhost:8000 receiver.php
$key = base64_decode(preg_replace('/^whsec_/', '', getenv('WEBHOOK_SECRET')));
$id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
$timestamp = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
$body = file_get_contents('php://input');

$valid = false;
if (ctype_digit($timestamp) && abs(time() - (int)$timestamp) <= 300) {
    $want = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $signature) {
        $valid = hash_equals($want, $signature) || $valid;
    }
}
if (!$valid) {
    http_response_code(401);
    exit;
}
error_log("$id $body");
http_response_code(204);
